"""Without Cassandra: hot reads and beats go on, cold reads are partial and soon at once, and a late beat waits for it."""

import asyncio
import time

from wire.client import Client, beat, item
from wire.dial import dial
from wire.http import call
from wire.patience import until
from wire.tokens import token

USER = 920_001
OTHER = 920_002
OLD, NEW = 1, 2  # contents: the first leaves Redis
HOUR_MS = 3_600_000
# What a list waits for, and then some: the machine is busy.
FIRST_MAX = 5.0
AT_ONCE_MAX = 0.05
WAITS_SECONDS = 20.0
TRIES = 40


def run(part):
    asyncio.run(_run(part))


async def _run(part):
    scene = part.scene
    gateway = scene.gateways[0]
    first = await _open(gateway, USER)
    now = first.now()
    await first.beats(beat(OLD, now - HOUR_MS), beat(NEW, now - 1))
    scene.wait_until_drained()
    await asyncio.to_thread(until, "the old content has left", lambda: not scene.redis.rows_of(USER), every=0.2)
    part.expect([r and r["at"] for r in await first.get(OLD, NEW)] == [now - HOUR_MS, now - 1], "cold", "it is read")
    # What was read is kept for a minute, but not by the other gateway.
    gateway = scene.gateways[1]
    scene.cassandra.pause()
    try:
        client = await _open(gateway, USER)
        late = asyncio.create_task(client.beats(beat(OLD, now - 2 * HOUR_MS), beat(NEW, client.now())))
        took = [_partial(part, gateway) for _ in range(TRIES)]
        part.expect(took[0] < FIRST_MAX, "cold", f"the first partial answer came after {took[0]:.2f} s")
        soon = sorted(took)[len(took) // 2]
        part.expect(soon < AT_ONCE_MAX, "cold", f"half of the partial answers took more than {soon:.3f} s")
        other = await _open(gateway, OTHER)
        began = time.monotonic()
        await other.beats(beat(NEW, other.now()))
        acked = time.monotonic() - began
        part.expect(not late.done(), "cold", f"a late beat was acked without Cassandra: {late}")
        seen = await other_device(gateway)
        part.expect(seen, "cold", "the beat beside the late one is not there")
    finally:
        scene.cassandra.resume()
    began = time.monotonic()
    rejected = await late
    words = {index: rejection["reason"] for index, rejection in rejected.items()}
    part.expect(words == {0: "superseded"}, "cold", f"the late beat was answered {rejected}")
    print(
        f"cold: without Cassandra the first answer took {took[0]:.2f} s, half of them at most {soon * 1000:.1f} ms, another "
        f"user's beat {acked * 1000:.0f} ms; the late beat was answered {time.monotonic() - began:.1f} s after it was back",
        flush=True,
    )
    for each in (first, client, other):
        await each.socket.close()


async def _open(gateway, mid):
    return Client(*await dial(gateway.ws, token(mid), device="tv"))


async def other_device(gateway):
    """Whether the newest beat is read, which came in a frame with the late one."""
    async with await Client.open(gateway, USER) as client:
        began = time.monotonic()
        while time.monotonic() - began < WAITS_SECONDS:
            [record] = await client.get(NEW)
            if record and record["at"] > client.now() - HOUR_MS // 2:
                return True
        return False


def _partial(part, gateway):
    """How long it takes to be answered that the old record cannot be read."""
    began = time.monotonic()
    answer = call(gateway.http, "POST", "/v1/history/get", USER, {"items": [item(OLD), item(NEW)]})
    took = time.monotonic() - began
    said = answer.json()
    part.expect(answer.status == 200 and said.get("partial") is True, "cold", f"{answer.status} {answer.text}")
    part.expect(said["records"][0] is None and said["records"][1], "cold", f"the hot record is read: {answer.text}")
    return took
