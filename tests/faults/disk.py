"""`python -m faults.disk BINARY`: the disk is full, at the start and under load. Exit code 1 if a promise broke.

The gateway says so in one line and ends with its code; once there is more room it starts, and everything that was acked
is there. The disk is a tmpfs, so this takes root.
"""

import asyncio
import sys

from websockets.exceptions import ConnectionClosed

from faults.scene import TABLES_UNWRITTEN, UNTIL_TOLD, Scene, arguments
from faults.tmpfs import PAGE, Tmpfs
from wire.client import Client, beat
from wire.gateway import StartFailed
from wire.http import call, control
from wire.patience import until

CANNOT_CREATE = 73
NO_SPACE = "No space left on device"
MIB = 1 << 20
MENDED_MIB = 1024  # more than a run can fill
MENDED_ACKS = 20_000  # of the crowd, after the last fill
# A crowd that is slow takes a while to fill a few megabytes.
FILL_SECONDS_MAX = 600
# On a disk of this size a gateway makes its directory and serves.
EMPTY_STORE_BYTES = 1 * MIB
SOCKETS = 2_000
RATE = 8_000
USERS = 40
BEATS = 20  # in a frame
WAIT_SECONDS = 3  # several looks for room
FRAMES_MAX = 600  # far more than fit in what a full disk has left


def main():
    args = arguments(__doc__, fills=4)
    with Scene(args) as scene:
        full_at_the_first_start(scene)
        filled_by_somebody_else(scene)
        full_under_load(scene)
        sys.exit(scene.verdict())


def _disk(scene, name, size):
    disk = Tmpfs(scene.scratch / name, size)
    scene.at_end(disk.unmount)
    return disk


def full_at_the_first_start(scene):
    """However far it comes: it says so, leaves nothing that the next start stumbles over, and that one serves."""
    refused, served = [], []
    for pages in sorted(scene.dice.sample(range(1, 25), 8)):
        disk = _disk(scene, f"tiny-{pages}", pages * PAGE)
        gateway = scene.gateway(disk.path / "data")
        try:
            gateway.start().stop()
            served.append(pages)
        except StartFailed as failed:
            refused.append(pages)
            scene.expect(failed.code == CANNOT_CREATE, f"exit code {failed.code} at a start on a full disk")
            scene.told_once(failed.stderr, gateway.data_dir, [f"is full ({NO_SPACE}"])
        disk.grow(EMPTY_STORE_BYTES)
        asyncio.run(_one_beat(gateway.start()))
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.expect(len(refused) >= 4, f"started on disks of {served} pages")
    scene.say(f"first start on a disk of {refused} pages: refused, and served when there was room; of {served}: served")


async def _one_beat(gateway):
    async with await Client.open(gateway, 42) as client:
        await client.beats(beat(1, client.now()))
        await client.get(1)


def filled_by_somebody_else(scene):
    """A gateway at rest, whose disk others fill: reads go on, and the first beat that does not fit ends it. The next one
    waits for room."""
    disk = _disk(scene, "shared", 8 * MIB)
    gateway = scene.gateway(disk.path / "data").start()
    acked = asyncio.run(_play_until_it_ends(scene, gateway, disk))
    scene.ended_by_itself(gateway, NO_SPACE)
    # The disk is still full: it waits for room, or refuses.
    try:
        gateway.start()
        asyncio.run(_all_there(scene, gateway, acked))
        asyncio.run(_waits_for_room(scene, gateway, disk, acked))
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
        again = "not ready until there was room"
    except StartFailed as failed:
        scene.expect(failed.code == CANNOT_CREATE, f"exit code {failed.code} at a start on a full disk")
        scene.told_once(failed.stderr, gateway.data_dir, [f"is full ({NO_SPACE}"])
        disk.free()
        again = "refused"
    gateway.start()
    asyncio.run(_all_there(scene, gateway, acked))
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"filled by somebody else: {len(acked)} acked and all read back; a start on the full disk: {again}")


async def _play_until_it_ends(scene, gateway, disk):
    """The contents whose beats were acked, by their `at`."""
    acked = {}
    client = await Client.open(gateway, 42)
    await _some_beats(client, acked)
    disk.fill()
    scene.expect(len(await client.list()) == len(acked), "a full disk keeps from reading")
    # A revocation that cannot be stored must be refused, not answered as done.
    answer = control(gateway, "POST", "/v1/revoke", body={"mid": "7"})
    scene.expect(answer.status == 503, f"a revocation that cannot be kept was answered {answer.status}")
    revoked = control(gateway, "GET", "/v1/revoke").json()
    scene.expect(revoked == {"revocations": []}, f"refused, and yet there: {revoked}")
    try:
        # What is left of the last pages may still take some.
        for _ in range(FRAMES_MAX):
            await _some_beats(client, acked)
            await asyncio.sleep(0.05)  # as many frames a second as a client may send
    except ConnectionClosed as closed:
        # Cut off, or told that the server goes: no other word.
        code = closed.rcvd.code if closed.rcvd else None
        scene.expect(code in (None, 1012), f"closed with {code} when the store failed")
    return acked


async def _waits_for_room(scene, gateway, disk, acked):
    """Not ready on the full disk, and nothing is acked; once there is room, what waited is."""
    ready = call(gateway.admin, "GET", "/readyz")
    unready = {"ready": False, "reasons": [f"the store takes no writes: the disk of {gateway.data_dir} is full"]}
    scene.expect((ready.status, ready.json()) == (503, unready), f"/readyz on a full disk: {ready.status} {ready.text}")
    async with await Client.open(gateway, 42) as client:
        waiting = asyncio.create_task(_some_beats(client, acked))
        await asyncio.sleep(WAIT_SECONDS)
        scene.expect(not waiting.done(), "beats were acked on a full disk")
        scene.expect(gateway.process.poll() is None, "it ended on a disk that was full at its start")
        disk.free()
        await waiting
    until("ready when there is room", lambda: call(gateway.admin, "GET", "/readyz").status == 200)


async def _some_beats(client, acked):
    at, oids = client.now(), range(len(acked), len(acked) + BEATS)
    await client.beats(*(beat(oid, at) for oid in oids))
    acked |= dict.fromkeys(oids, at)


async def _all_there(scene, gateway, acked):
    async with await Client.open(gateway, 42) as client:
        oids = list(acked)
        found = []
        for start in range(0, len(oids), 500):
            found += await client.get(*oids[start : start + 500])
        lost = [oid for oid, record in zip(oids, found, strict=True) if not record or record["at"] != acked[oid]]
        scene.expect(not lost, f"acked and not there: {lost}")


def full_under_load(scene):
    """A crowd that goes on, on a disk that is made larger each time it is full."""
    disk = _disk(scene, "disk", scene.dice.randrange(3 * MIB, 9 * MIB))
    gateway = scene.gateway(disk.path / "data").start()
    witnesses = scene.witnesses(USERS)
    witnesses.play(gateway)
    # Half of the beats store a new row, so that tables are written, too, and may be what the disk has no room for.
    crowd = scene.crowd(gateway, "--sockets", SOCKETS, "--rate", RATE, "--new-contents", 0.5, "--reconnect", *UNTIL_TOLD)
    for fill in range(1, scene.args.fills + 1):
        until("the disk is full", lambda: gateway.process.poll() is not None, FILL_SECONDS_MAX)
        full = disk.used()
        scene.ended_by_itself(gateway, NO_SPACE, TABLES_UNWRITTEN)
        witnesses.park()
        is_last = fill == scene.args.fills
        disk.grow(MENDED_MIB * MIB if is_last else scene.dice.randrange(4 * MIB, 12 * MIB))
        gateway.start()
        figures = witnesses.testify(gateway)
        witnesses.play(gateway)
        scene.say(f"full {fill} at {full / MIB:5.1f} MiB: {figures}, {len(scene.faults)} faults")
    crowd.wait_for_acks(MENDED_ACKS)
    scene.judge_crowd(crowd)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    witnesses.park()
    gateway.start()
    witnesses.testify(gateway)
    gateway.stop()
    scene.say(witnesses.totals())
    scene.expect(witnesses.in_flight > 0, "no client waited for an ack when the disk was full")


if __name__ == "__main__":
    main()
