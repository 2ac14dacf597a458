"""`python -m faults.events BINARY`: the event log cannot be written, while everything else can.

Viewers notice nothing: beats are acked as before. Claims wait in the outbox. When it is full there are no new claims
and no flags. When the log can be written again all events come, and users without a claim claim with their next beat.
"""

import asyncio
import sys
import time

from auditor.rewards import outbox_entries, published
from auditor.rules import SETTINGS, USER_RULE
from faults.failing_disk import EVENTS, FailingDisk
from wire.loadgen import FIRST_MID
from faults.scene import Scene, arguments
from wire.client import Client, beat
from wire.http import call, control
from wire.patience import PATIENCE_SECONDS, came

OUTBOX = 50
USERS = 200
FAILURES_A_ROUND = 3
# Frames of beats that are acked before a failure and while it lasts, for each user: few enough that users still claim.
ACKS_A_USER = (0.2, 1.5)
SUSPENDED = 'event="events_suspended"'
RESUMED = 'event="events_resumed"'
FAILED = 'event="event_log_failed"'
ONE_RULE = f'[{{ id = "{USER_RULE}", per = "user", kinds = [], watched = "0s", exact = true }}]'


def main():
    args = arguments(__doc__, rounds=4, users=30)
    with Scene(args) as scene:
        disk = FailingDisk(scene)
        full_outbox(scene, disk)
        failing_now_and_then(scene, disk)
        sys.exit(scene.verdict())


def full_outbox(scene, disk):
    """One claim of each user, more users than the outbox has room for."""
    settings = {**SETTINGS, "REWARDS__RULES": ONE_RULE, "REWARDS__OUTBOX": OUTBOX}
    gateway = scene.gateway(scene.scratch / "outbox", disk.before, **settings).start()
    disk.fail(EVENTS, "keep")
    flags = asyncio.run(_beats(gateway, range(1, USERS + 1)))
    claimed = outbox_entries(gateway)
    scene.expect(claimed == OUTBOX, f"{claimed} claims in an outbox for {OUTBOX}")
    scene.expect(sum(flags) == OUTBOX, f"{sum(flags)} flags with {OUTBOX} claims")
    # Users that go on get correct answers, and as fast as before.
    again = asyncio.run(_beats(gateway, range(1, USERS + 1)))
    scene.expect(again == flags, "a full outbox gives and takes flags")
    status = call(gateway.admin, "GET", "/readyz").status
    scene.expect(status == 200, f"not ready ({status}) because of events")
    disk.mend()
    seconds = _until_published(scene, gateway, OUTBOX)
    late = asyncio.run(_beats(gateway, range(1, USERS + 1)))
    scene.expect(all(late), f"{late.count(False)} users are not rewarded when there is room again")
    _until_published(scene, gateway, USERS)
    killed_with_full_outbox(scene, disk, gateway)
    events = control(gateway, "GET", "/v1/events?limit=1000").json()["events"]
    ids = {entry["event"]["id"] for entry in events}
    scene.expect(len(ids) == USERS + OUTBOX, f"{len(ids)} claims of {USERS} users and {OUTBOX} more")
    scene.expect(gateway.stop(PATIENCE_SECONDS) == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"outbox full at {claimed} of {USERS} users, all acked; published {seconds:.1f} s after the log was mended")


def killed_with_full_outbox(scene, disk, gateway):
    """What waited in it is published by the next process."""
    disk.fail(EVENTS, "keep")
    flags = asyncio.run(_beats(gateway, range(USERS + 1, USERS + OUTBOX + 1)))
    scene.expect(all(flags), f"only {sum(flags)} of {OUTBOX} claims in an empty outbox")
    gateway.kill()
    disk.mend()
    gateway.start()
    _until_published(scene, gateway, OUTBOX)


def failing_now_and_then(scene, disk):
    """Under load and in every way; and what was read of the log once stays there."""
    gateway = scene.gateway(scene.scratch / "now-and-then", disk.before, **SETTINGS).start()
    witnesses = scene.witnesses(scene.args.users, newcomers=scene.args.users)
    failures = 0
    for number in range(1, scene.args.rounds + 1):
        tail = witnesses.tail(gateway)
        witnesses.play(gateway)
        for _ in range(FAILURES_A_ROUND):
            play_on(scene, witnesses, gateway)
            fail(scene, disk, witnesses, gateway, ("lose", "once", "keep")[failures % 3], FIRST_MID + failures)
            failures += 1
        scene.expect(gateway.process.poll() is None, f"the gateway has ended: {gateway.stderr()}")
        gateway.kill()
        tail.end()
        witnesses.park()
        gateway.start()
        figures = witnesses.testify(gateway)
        witnesses.testify_rewards(gateway)
        claims = len(witnesses.rewards.claims)
        scene.say(f"{failures} failures: {figures}, {claims} claims, {len(scene.faults)} faults")
        if scene.faults:
            return
    scene.expect(gateway.stop(PATIENCE_SECONDS) == 0, "an exit code other than 0 after SIGTERM")
    gateway.start()
    witnesses.replay(gateway)
    scene.expect(gateway.stop(PATIENCE_SECONDS) == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"{witnesses.totals()}, {witnesses.rewards.repeated} events once more")


def fail(scene, disk, witnesses, gateway, mode, newcomer):
    """While it fails, beats are acked. A newcomer claims: the event meets the failure, and the gateway says so."""
    over = came(lambda: _said(gateway, RESUMED) == _said(gateway, SUSPENDED))
    scene.expect(over, "the gateway does not say that it writes events again")
    # After one failure the log is open again so soon that it may publish before it counts as away.
    complaint = FAILED if mode == "once" else SUSPENDED
    known = _said(gateway, complaint)
    disk.fail(EVENTS, mode)
    asyncio.run(_beat(gateway, newcomer))
    play_on(scene, witnesses, gateway)
    noticed = came(lambda: _said(gateway, complaint) > known)
    scene.expect(noticed, f"the gateway does not say that it cannot write events ({mode})")
    disk.mend()


def _said(gateway, event):
    """How often the present process has logged it."""
    return gateway.stderr().count(event)


def play_on(scene, witnesses, gateway):
    """Until a random number of frames that are sent from now on were acked."""
    acks = 1 + int(scene.dice.uniform(*ACKS_A_USER) * 2 * scene.args.users)
    witnesses.progress.begin()
    reached = witnesses.progress.reaches(acks, lambda: gateway.process.poll() is None)
    scene.expect(reached, f"only {witnesses.progress.acked()} of {acks} acks come")


async def _beats(gateway, mids):
    """One beat of each user, acked without a rejection; whether each has the flag then."""
    return [await _beat(gateway, mid) for mid in mids]


async def _beat(gateway, mid):
    async with await Client.open(gateway, mid) as client:
        seq = await client.send(beats={"items": [beat(1, client.now())]})
        _, ack = await client.frame("ack")
        if ack["seq"] < seq or ack.get("rejected"):
            raise AssertionError(f"a beat was answered {ack}")
        return "flag" in ack


def _until_published(scene, gateway, count):
    """Waits until no claim waits for its event; how long it took. An entry goes after its event was published."""
    began = time.monotonic()
    emptied = came(lambda: not outbox_entries(gateway), every=0.05)
    scene.expect(emptied, f"{outbox_entries(gateway)} entries stay in the outbox when the log was mended")
    scene.expect(published(gateway) >= count, f"{published(gateway)} of {count} events are published")
    return time.monotonic() - began


if __name__ == "__main__":
    main()
