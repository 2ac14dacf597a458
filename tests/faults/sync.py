"""`python -m faults.sync BINARY`: a disk that answers fsync with EIO, at the start and under load.

The gateway says so in one line and ends with its code, and never acks what a failed sync may have lost, not even when
the next sync succeeds; started again on a disk that works, everything that was acked is there. So it is when the power
fails after that: what the restarted gateway found in the page cache only, it has written anew.
"""

import asyncio
import sys

from faults.failing_disk import IO_ERROR, JOURNAL, FailingDisk
from faults.scene import UNTIL_TOLD, Scene, arguments
from wire.client import Client, beat
from wire.gateway import StartFailed
from wire.metrics import wait_for_acks

CANNOT_CREATE = 73
USERS = 40
# Of the beats that the crowd means to send in a second: so many are acked before the next failure.
HEALTHY_SHARE = (0.1, 2.0)
# And so many after the last.
MENDED_SHARE = 4
# Beats of one frame, and so of one batch: several pages of the journal.
BATCH = 400
RESTARTED_SHARE = (0.1, 1.0)


def main():
    args = arguments(__doc__, failures=6, sockets=2_000, rate=4_000)
    with Scene(args) as scene:
        disk = FailingDisk(scene)
        failed_at_the_first_start(scene, disk)
        power_fails_after_the_restart(scene, disk)
        if not scene.faults:
            failed_under_load(scene, disk)
        sys.exit(scene.verdict())


def failed_at_the_first_start(scene, disk):
    """It is refused, leaves nothing that the next start stumbles over, and that one serves."""
    for number, place in enumerate(("*/store.new/format", "*.jnl", "*/store*", "*/events*")):
        data_dir = scene.scratch / f"new-{number}"
        gateway = scene.gateway(data_dir, disk.before)
        disk.fail(place, "keep")
        try:
            gateway.start()
            scene.fault(f"it started although {place} cannot be synced")
        except StartFailed as failed:
            scene.expect(failed.code == CANNOT_CREATE, f"exit code {failed.code} when {place} cannot be synced")
            scene.told_once(failed.stderr, gateway.data_dir, [IO_ERROR])
        disk.mend()
        gateway.start()
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say("failed at the first start: refused; served when the disk was mended")


def power_fails_after_the_restart(scene, disk):
    """A batch whose sync failed is found by its resend, and more is acked after it."""
    gateway = scene.gateway(scene.scratch / "power", disk.before).start()
    acked = asyncio.run(_play_around_a_failure(scene, gateway, disk))
    gateway.kill()
    disk.cut_power()
    try:
        gateway.start()
    except StartFailed as failed:
        scene.fault(f"after a power cut it does not start any more: {failed}")
        return
    asyncio.run(_all_there(scene, gateway, acked))
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")


async def _play_around_a_failure(scene, gateway, disk):
    """The contents whose beats were acked, by their `at`."""
    client = await Client.open(gateway, 42)
    at = client.now()
    early, failed, late = ([beat(oid, at) for oid in range(n, n + BATCH)] for n in range(0, 3 * BATCH, BATCH))
    await client.beats(*early)
    disk.fail(JOURNAL, "clean")
    await client.send(beats={"items": failed})
    scene.ended_by_itself(gateway, IO_ERROR)
    lost = disk.lost_bytes()
    scene.expect(lost > 0, "the failed sync has left no page behind")
    disk.mend()
    gateway.start()
    async with await Client.open(gateway, 42) as client:
        rejected = await client.beats(*failed) | await client.beats(*late)
        scene.expect(not rejected, f"rejected after the restart: {rejected}")
    scene.say(f"failed sync of {lost} bytes, restart, {2 * BATCH} acked: {disk.lost_bytes()} bytes in memory only; power cut")
    return {item["oid"]: at for item in early + failed + late}


async def _all_there(scene, gateway, acked):
    async with await Client.open(gateway, 42) as client:
        there = {record["oid"]: record["at"] for record in await client.list()}
    lost = [oid for oid, at in acked.items() if there.get(oid) != at]
    scene.expect(not lost, f"{len(lost)} of {len(acked)} that were acked are not there after the power cut")


def failed_under_load(scene, disk):
    """A crowd that goes on, on a disk that fails now and then, in one way or another."""
    gateway = scene.gateway(before=disk.before).start()
    witnesses = scene.witnesses(USERS)
    witnesses.play(gateway)
    load = ["--sockets", scene.args.sockets, "--rate", scene.args.rate, "--new-contents", 0.5, "--reconnect"]
    crowd = scene.crowd(gateway, *load, *UNTIL_TOLD)
    for number in range(scene.args.failures):
        _random_moment(scene, gateway, HEALTHY_SHARE)
        mode = ("lose", "clean", "once", "keep")[number % 4]
        disk.fail(JOURNAL, mode)
        scene.ended_by_itself(gateway, IO_ERROR)
        witnesses.park()
        disk.mend()
        gateway.start()
        figures = witnesses.testify(gateway)
        witnesses.play(gateway)
        if mode == "clean":
            cut_power_under_load(scene, disk, gateway, witnesses)
        scene.say(f"failure {number + 1}, {mode}: {figures}, {len(scene.faults)} faults")
        if scene.faults:
            return
    crowd.wait_for_acks(MENDED_SHARE * scene.args.rate)
    scene.judge_crowd(crowd)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    witnesses.park()
    gateway.start()
    witnesses.testify(gateway)
    scene.say(witnesses.totals())
    witnesses.stop()
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.expect(witnesses.in_flight > 0, "no client waited for an ack when the disk failed")


def cut_power_under_load(scene, disk, gateway, witnesses):
    """A while after the restart, when resends were acked and others after them."""
    _random_moment(scene, gateway, RESTARTED_SHARE)
    gateway.kill()
    witnesses.park()
    disk.cut_power()
    gateway.start()
    witnesses.testify(gateway)
    witnesses.play(gateway)


def _random_moment(scene, gateway, share):
    wait_for_acks(int(scene.args.rate * scene.dice.uniform(*share)), gateway)


if __name__ == "__main__":
    main()
