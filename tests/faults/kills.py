"""`python -m faults.kills BINARY`: SIGKILL at random moments while a crowd beats, 0 lost.

The gateway is killed and started again on the same port and directory for as long as the load lasts: most often a
random moment after the crowd is back, sometimes while it still comes. What some of the auditor's users were told is
judged after each round, what everybody was told at the end; and after each round what was rewarded, of which the crowd
claims some hundred times a second.
"""

import re
import sys
import time

from auditor.rules import CONTENT_RULE, FRESH_MS, SETTINGS, USER_RULE
from faults.loadgen import FIRST_MID
from faults.scene import Scene, arguments
from wire.http import call

# What is left of the load after the last kill.
QUIET_SECONDS = 12
BACK_SHARE = 0.9  # of the sockets: then the crowd is back
BACK_CHANCE = 0.75  # of waiting for that
KILL_AFTER_SECONDS = (0.0, 2.0)
# Whose records are read in each round: a few, or a round would take longer than the crowd to come back.
READ_BACK_USERS = 6
# A kill that nobody feels shows nothing: so many beats of the crowd must on average have been in flight.
RESENT_MIN = 20


def main():
    args = arguments(__doc__, seconds=100, rounds=6, sockets=10_000, rate=3_000, users=20)
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
    crowd = scene.crowd(gateway, *load, "--duration", f"{args.seconds}s", "--drain", "120s")
    until, rounds = time.monotonic() + args.seconds - QUIET_SECONDS, 0
    while not scene.faults and _random_moment(scene, gateway, until):
        rounds += 1
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
            f"round {rounds:3}: killed with {sockets:5} sockets, back after {up:4.2f} s; auditor: {figures}, "
            f"{len(witnesses.rewards.claims)} claims, {len(scene.faults)} faults"
        )
    report = scene.judge_crowd(crowd)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    tail.end()
    witnesses.park()
    gateway.start()
    witnesses.testify(gateway)
    judge_rewards(scene, witnesses, gateway, report)
    scene.say(f"{rounds} rounds; {witnesses.totals()}")
    scene.expect(rounds >= args.rounds, f"only {rounds} rounds in {args.seconds} s")
    enough = report["resent"] >= RESENT_MIN * rounds
    scene.expect(enough, f"only {report['resent']} beats of the crowd were in flight at {rounds} kills")


def judge_rewards(scene, witnesses, gateway, report):
    """After the drain: of the crowd, too, every user has the claim of the day, and every content that was acked."""
    witnesses.testify_rewards(gateway)
    witnesses.replay(gateway)
    rewards = witnesses.rewards
    users, contents = (rewards.claims_of(rule, FIRST_MID) for rule in (USER_RULE, CONTENT_RULE))
    scene.expect(users == report["sockets"], f"{users} of {report['sockets']} users of the crowd were rewarded")
    acked, oldest = report["verified"]["acked"], report["latency_ms"]["max"]
    # A beat may have waited for its gateway until it was too old to be rewarded; if one did, no more than a few have.
    least = 0.99 * acked if oldest > FRESH_MS else acked
    scene.expect(least <= contents <= acked, f"{contents} of {acked} contents of the crowd were rewarded")
    scene.say(
        f"{len(rewards.claims)} claims, {rewards.repeated} events once more; of the crowd {users} of {report['sockets']} "
        f"users and {contents} of {acked} contents, whose oldest beat was acked after {oldest / 1000:.0f} s"
    )


def _random_moment(scene, gateway, until):
    """Waits for it; False when the time is over."""
    if scene.dice.random() < BACK_CHANCE:
        while _sockets(gateway) < BACK_SHARE * scene.args.sockets and time.monotonic() < until:
            time.sleep(0.05)
    time.sleep(scene.dice.uniform(*KILL_AFTER_SECONDS))
    return time.monotonic() < until


def _sockets(gateway):
    metrics = call(gateway.admin, "GET", "/metrics").text
    return int(re.search(r"^heartline_connections (\d+)$", metrics, re.M)[1])


if __name__ == "__main__":
    main()
