"""What leaves Redis: its memory before and after, how long the trim takes, what a hot read waits meanwhile, and what cold reads
and first plays cost."""

import asyncio
import random
import time

from history.kills import TRIMMED
from history.scene import Scene
from wire.client import Client, beat, item
from wire.patience import until

FIRST = 1_000_001
GREAT = 999_999  # a user of many contents
FRAME = 500
DAY_MS = 86_400_000
SPREAD_DAYS = 60
TOGETHER = 16  # sockets that load
READERS, READS_A_SECOND, READ_SECONDS = 20, 200, 20
LISTED = 300
PLAYS, PLAY_PAUSE = 100, 0.2  # within the limit of frames a second
TRIM_SECONDS_MAX = 1_800
ON = {"HISTORY__TRIM": "on", "HISTORY__HOT_IDLE": "1s"}


def run(binary, scratch, users, contents, great):
    scene = Scene(binary, scratch, jobs=2, interval_ms=5_000, hot_idle="1h", gateways=1)
    try:
        scene.start()
        _run(scene, users, contents, great)
    finally:
        scene.end()


def _run(scene, users, contents, great):
    [gateway] = scene.gateways
    base = _memory(scene)
    began = time.monotonic()
    asyncio.run(_load(gateway, users, contents))
    asyncio.run(_record(gateway, GREAT, great))
    print(f"{users} users of {contents} records and one of {great}, in {time.monotonic() - began:.0f} s", flush=True)
    began = time.monotonic()
    scene.wait_until_drained()
    print(f"carried to Cassandra {time.monotonic() - began:.0f} s later", flush=True)
    before = _memory(scene) - base
    _restart(scene, gateway, {})
    quiet = asyncio.run(_reads(gateway, users, READ_SECONDS))
    _restart(scene, gateway, ON)
    began = time.monotonic()
    busy = asyncio.run(_reads(gateway, users, READ_SECONDS))
    leaving = users * (contents - 1) + great - 1
    until("all that is idle has left", lambda: scene.counted(TRIMMED, [gateway]) >= leaving, TRIM_SECONDS_MAX, every=1)
    took = time.monotonic() - began
    after, rows = _memory(scene) - base, scene.counted(TRIMMED, [gateway])
    print(
        f"{rows:.0f} rows left in {took:.0f} s; Redis has {before / users:.0f} bytes a user before and {after / users:.0f} after",
        flush=True,
    )
    print(f"get of a hot record: p50 {_p(quiet, 50)}, p99 {_p(quiet, 99)}; while it trims {_p(busy, 50)}, {_p(busy, 99)}", flush=True)
    lists = asyncio.run(_lists(gateway, users))
    print(f"first list of an idle user, 200 records: p50 {_p(lists, 50)}, p99 {_p(lists, 99)}", flush=True)
    reads = _cold_reads(scene, gateway)
    asyncio.run(_first_plays(gateway, great))
    print(f"{PLAYS} first plays of a user with {great} contents: {_cold_reads(scene, gateway) - reads:.0f} reads of Cassandra", flush=True)


def _restart(scene, gateway, settings):
    gateway.stop()
    gateway.settings.update(settings)
    gateway.start()
    scene.wait_until_ready()


async def _load(gateway, users, contents):
    waiting = iter(range(FIRST, FIRST + users))

    async def load():
        for mid in waiting:
            await _record(gateway, mid, contents)

    await asyncio.gather(*(load() for _ in range(TOGETHER)))


async def _record(gateway, mid, contents):
    """Contents 1 and so on, of the last weeks, the newest first."""
    async with await Client.open(gateway, mid) as client:
        now, step = client.now(), SPREAD_DAYS * DAY_MS // contents
        items = [beat(oid, now - (oid - 1) * step - 1) for oid in range(1, contents + 1)]
        for begin in range(0, contents, FRAME):
            rejected = await client.beats(*items[begin : begin + FRAME])
            assert not rejected, rejected


async def _reads(gateway, users, seconds):
    """Seconds that each get of a content in the head takes, at a steady rate."""
    took, end = [], time.monotonic() + seconds

    async def read(number):
        async with await Client.open(gateway, FIRST + number) as client:
            due = time.monotonic()
            while due < end:
                await asyncio.sleep(max(0, due - time.monotonic()))
                began = time.monotonic()
                await client.ask(get={"items": [item(1)]})
                took.append(time.monotonic() - began)
                due += READERS / READS_A_SECOND

    await asyncio.gather(*(read(number * users // READERS) for number in range(READERS)))
    return took


async def _lists(gateway, users):
    took = []
    for number in random.sample(range(users), min(LISTED, users)):
        async with await Client.open(gateway, FIRST + number) as client:
            began = time.monotonic()
            page = await client.ask(list={"limit": 200})
            took.append(time.monotonic() - began)
            assert len(page["records"]) == 200 and not page.get("partial"), page.get("partial")
    return took


async def _first_plays(gateway, great):
    async with await Client.open(gateway, GREAT) as client:
        for oid in range(great + 1, great + 1 + PLAYS):
            assert await client.get(oid) == [None]
            await client.beats(beat(oid, client.now()))
            await asyncio.sleep(PLAY_PAUSE)


def _cold_reads(scene, gateway):
    return sum(scene.counted(f'heartline_cold_reads_total{{outcome="{word}"}}', [gateway]) for word in ("read", "kept"))


def _memory(scene):
    """Bytes of data."""
    said = scene.redis.nodes[0].cli("INFO", "memory")
    return next(int(line.split(":")[1]) for line in said if line.startswith("used_memory:"))


def _p(took, percent):
    return f"{sorted(took)[int(len(took) * percent / 100)] * 1000:.1f} ms"
