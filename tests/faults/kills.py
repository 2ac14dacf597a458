"""`python -m faults.kills BINARY`: SIGKILL at random moments while a crowd beats, 0 lost.

The gateway is killed and started again on the same port and directory while the load lasts: most often at a random
moment after the crowd is back, sometimes while it still comes. Moments are counted in acked beats, of which each round
has its part; on a slow machine a round takes more, and there are fewer rounds. After each round, the acks of some of the
auditor's users are judged, and all rewards, of which the crowd claims some hundred a second. At the end, all acks are.
"""

import re
import sys
import time

from auditor.rules import CONTENT_RULE, FRESH_MS, SETTINGS, USER_RULE
from wire.loadgen import FIRST_MID
from faults.scene import Scene, arguments
from wire.metrics import metrics
from wire.patience import PATIENCE_SECONDS, came

# Of the load, for the rounds together; the rest comes after the last kill.
KILLS_SHARE = 0.85
ROUNDS_MIN = 2
# How long acks may come after the last beat was meant to be sent: patience with a slow machine.
DRAIN = "600s"
BACK_SHARE = 0.9  # of the sockets: then the crowd is back
BACK_CHANCE = 0.75  # of waiting for that
# Between two looks at the metrics of a gateway that has much to do.
LOOK_SECONDS = 0.05
# And then so long, so that a kill does not always meet the same moment.
MOMENT_SECONDS = 0.05
# Whose records are read in each round: a few, or a round would take longer than the crowd to come back.
READ_BACK_USERS = 6
# A kill without beats in flight shows nothing: on average so many beats of the crowd must have been in flight.
RESENT_MIN = 20
# How many beats were acked within what the report says of latencies.
LATENCIES = {"max": 1, "p99": 0.99, "p90": 0.9, "p50": 0.5}
# Not all beats have their own content, and which of them were late is chance.
LATE_MARGIN = 0.01


def main():
    args = arguments(__doc__, seconds=80, rounds=8, sockets=10_000, rate=3_000, users=20)
    with Scene(args) as scene:
        kill_rounds(scene)
        sys.exit(scene.verdict())


def kill_rounds(scene):
    args = scene.args
    gateway = scene.gateway(**SETTINGS).start()
    witnesses = scene.witnesses(args.users, newcomers=args.users)
    witnesses.play(gateway)
    tail = witnesses.tail(gateway)
    load = ["--sockets", args.sockets, "--rate", args.rate, "--new-contents", 0.2, "--reconnect"]
    crowd = scene.crowd(gateway, *load, "--duration", f"{args.seconds}s", "--drain", DRAIN)
    rounds, beats = 0, KILLS_SHARE * args.rate * args.seconds
    while not scene.faults and rounds < args.rounds and crowd.acked() < beats:
        rounds += 1
        acked = until_random_moment(scene, gateway, int(beats / args.rounds))
        scene.expect(gateway.process.poll() is None, f"the gateway had ended by itself: {gateway.stderr()}")
        sockets = _sockets(gateway)
        gateway.kill()
        tail.end()
        witnesses.park()
        down = time.monotonic()
        gateway.start()
        up = time.monotonic() - down
        figures = witnesses.testify(gateway, READ_BACK_USERS)
        witnesses.testify_rewards(gateway)
        tail = witnesses.tail(gateway)
        witnesses.play(gateway)
        scene.say(
            f"round {rounds:3}: killed with {sockets:5} sockets after {acked:5} beats, back after {up:4.2f} s; "
            f"auditor: {figures}, {len(witnesses.rewards.claims)} claims, {len(scene.faults)} faults"
        )
    report = scene.judge_crowd(crowd)
    scene.expect(gateway.stop(PATIENCE_SECONDS) == 0, "an exit code other than 0 after SIGTERM")
    tail.end()
    witnesses.park()
    gateway.start()
    witnesses.testify(gateway)
    judge_rewards(scene, witnesses, gateway, report)
    scene.say(f"{rounds} rounds; {witnesses.totals()}")
    scene.expect(scene.faults or rounds >= min(ROUNDS_MIN, args.rounds), f"the load was over after {rounds} rounds")
    enough = report["resent"] >= RESENT_MIN * rounds
    scene.expect(enough, f"only {report['resent']} beats of the crowd were in flight at {rounds} kills")


def judge_rewards(scene, witnesses, gateway, report):
    """After the drain: of the crowd, too, every user has the claim of the day, and every content that was acked."""
    witnesses.testify_rewards(gateway)
    witnesses.replay(gateway)
    rewards = witnesses.rewards
    users, contents = (rewards.claims_of(rule, FIRST_MID) for rule in (USER_RULE, CONTENT_RULE))
    sockets, acked, oldest = report["sockets"], report["verified"]["acked"], report["latency_ms"]["max"]
    # A beat may have waited for its gateway until it was too old to be rewarded.
    share = next((share for name, share in LATENCIES.items() if report["latency_ms"][name] <= FRESH_MS), 0)
    least = 1 if share == 1 else share - LATE_MARGIN
    scene.expect(least * sockets <= users <= sockets, f"{users} of {sockets} users of the crowd were rewarded")
    scene.expect(least * acked <= contents <= acked, f"{contents} of {acked} contents of the crowd were rewarded")
    scene.say(
        f"{len(rewards.claims)} claims, {rewards.repeated} events once more; of the crowd {users} of {report['sockets']} "
        f"users and {contents} of {acked} contents, whose oldest beat was acked after {oldest / 1000:.0f} s"
    )


def until_random_moment(scene, gateway, beats):
    """Waits for a random moment within so many acked beats, and returns how many were acked by then."""
    if scene.dice.random() < BACK_CHANCE:
        enough = BACK_SHARE * scene.args.sockets
        came(lambda: _sockets(gateway) >= enough or _acked(gateway) >= beats, every=LOOK_SECONDS)
    acks = scene.dice.randint(min(_acked(gateway) + 1, beats), beats)
    reached = came(lambda: _acked(gateway) >= acks, every=LOOK_SECONDS)
    scene.expect(reached, f"only {_acked(gateway)} of {acks} beats are acked")
    time.sleep(scene.dice.uniform(0, MOMENT_SECONDS))
    return _acked(gateway)


def _sockets(gateway):
    return sum(_metric(gateway, r"heartline_connections"))


def _acked(gateway):
    """Beats that this process has answered."""
    return sum(_metric(gateway, r"heartline_beats_total\{.*\}"))


def _metric(gateway, name):
    return map(int, re.findall(rf"^{name} (\d+)$", metrics(gateway), re.M))


if __name__ == "__main__":
    main()
