"""`python -m auditor.commands BINARY`: what a beat costs Redis and Kafka.

Redis gets at most one script call for each shard with beats in a group, the reads of rows and claims that the gateway does
not remember, and no other command that there would not be without beats; Kafka gets nothing at all.
"""

import argparse
import asyncio
import math
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from auditor.audit import scratch_directory
from auditor.rewards import outbox_entries
from auditor.rules import SETTINGS
from auditor.topic import Topic
from tiers.fleet import Fleet
from tiers.redis_server import SINGLE
from wire.client import Client, beat
from wire.patience import came

USERS = 20
FRAMES = 30
CONTENTS = 20  # beats in a frame, one each
PAUSE_SECONDS = 0.1
FULL_FRAME = 500
SCRIPT = "EVALSHA"
MARK = "ECHO"  # which no gateway sends
# Other commands come by the clock, the rarest every few seconds: this is long enough to see them all.
IDLE_SECONDS = 8
# And no more than this beyond what the clock makes of it in the time that the beats take.
OTHERS_MAX = 20

_LINE = re.compile(r'^[\d.]+ \[\d+ (?P<from>\S+)\] "(?P<command>[^"]*)"(?: "(?P<first>[0-9a-f]{40})")?', re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the logs and the data")
    args = parser.parse_args()
    faults = []
    with scratch_directory(args) as scratch:
        fleet = Fleet(args.binary, scratch, SINGLE, gateways=1, **SETTINGS)
        try:
            fleet.start()
            asyncio.run(watch(fleet, scratch / "monitor", faults))
        finally:
            fleet.end()
    for promise, text in faults:
        print(f"FAULT {promise}: {text}")
    sys.exit(1 if faults else 0)


async def watch(fleet, path, faults):
    gateway, topic = fleet.gateways[0], Topic(faults, fleet.kafka)
    clients = [await Client.open(gateway, mid) for mid in range(1, USERS + 1)]
    # What there is to claim is claimed, and told.
    await asyncio.gather(*(client.beats(*_beats(client, FULL_FRAME)) for client in clients))
    if not await asyncio.to_thread(came, lambda: not outbox_entries(gateway), every=0.1):
        faults.append(("load", f"{outbox_entries(gateway)} entries stay in the outbox"))
    topic.catch_up()
    claims = len(topic.take())
    if claims != USERS * (1 + FULL_FRAME):
        faults.append(("load", f"{claims} events of {USERS} users with {FULL_FRAME} contents each"))

    with Monitor(fleet.redis.nodes[0].port, path) as monitor:
        idle, idle_seconds = await monitor.during(asyncio.sleep(IDLE_SECONDS))
        busy, busy_seconds = await monitor.during(asyncio.gather(*(_play(client) for client in clients)))
        full, _ = await monitor.during(clients[0].beats(*_beats(clients[0], FULL_FRAME)))
    topic.catch_up()
    late = len(topic.take())
    if late:
        faults.append(("Kafka", f"{late} messages for beats that claim nothing"))

    beats, frames = USERS * FRAMES * CONTENTS, USERS * FRAMES
    # What the one frame of the end was committed by. Other scripts come by the clock: one goes through all shards, to look
    # for what gateways that died have left to publish.
    (commit,) = (name for name in full if name.startswith(SCRIPT) and name not in idle)
    by_the_clock = [name for name in idle if name.startswith(SCRIPT)]
    longer = max(1, busy_seconds / idle_seconds)
    by_clock = Counter({name: math.ceil(count * longer) for name, count in idle.items()})
    calls, others = busy.pop(commit, 0), busy - by_clock
    for name in by_the_clock:
        others.pop(name, None)
    print(f"idle for {IDLE_SECONDS} s: {dict(idle)}")
    print(f"{beats} beats in {frames} frames of {USERS} users: {calls} script calls, beside them {dict(others)}")
    print(f"{FULL_FRAME} beats in one frame: {full[commit]} script call")
    # A frame is in one group, and a user in one shard.
    if not 0 < calls <= frames:
        faults.append(("Redis", f"{calls} script calls for {frames} frames"))
    # Each frame has other contents than the one in the head: their rows and claims are read before it is decided.
    reads = {"HMGET": frames, "ZCARD": frames, "ZRANGE": frames, "ZRANGEBYSCORE": frames, "HEXISTS": beats}
    beyond = Counter({name: count - reads.get(name, 0) for name, count in others.items()})
    if sum((+beyond).values()) > OTHERS_MAX:
        faults.append(("Redis", f"other commands beside the script and its reads: {dict(others)}"))
    if full[commit] != 1:
        faults.append(("Redis", f"{full[commit]} script calls for one frame"))
    for client in clients:
        await client.socket.close()


async def _play(client):
    for _ in range(FRAMES):
        await asyncio.sleep(PAUSE_SECONDS)
        await client.beats(*_beats(client, CONTENTS))


def _beats(client, count):
    at = client.now()
    return [beat(oid, at) for oid in range(count)]


class Monitor:
    """What clients ask of Redis, by its MONITOR; what scripts do inside is theirs."""

    def __init__(self, port, path):
        self._cli, self._path = ["redis-cli", "-h", "127.0.0.1", "-p", str(port)], path

    def __enter__(self):
        with open(self._path, "wb") as out:
            self._process = subprocess.Popen([*self._cli, "MONITOR"], stdin=subprocess.DEVNULL, stdout=out)
        if not came(lambda: "OK" in self._path.read_text(), every=0.02):
            raise RuntimeError("Redis does not say that it is watched")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    async def during(self, what):
        """The commands while it lasts, by name, and how long that was."""
        self._mark()
        begun, began = self._path.stat().st_size, time.monotonic()
        await what
        seconds = time.monotonic() - began
        self._mark()
        with open(self._path, errors="replace") as lines:
            lines.seek(begun)
            text = lines.read()
        found = (found for found in _LINE.finditer(text) if found["from"] != "lua" and found["command"] != MARK)
        return Counter(" ".join(filter(None, (one["command"].upper(), one["first"]))) for one in found), seconds

    def _mark(self):
        """Redis has told of all that it was asked before when it tells of this."""
        seen = self._path.read_text(errors="replace").count(f'"{MARK}"')
        subprocess.run([*self._cli, MARK, "mark"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        if not came(lambda: self._path.read_text(errors="replace").count(f'"{MARK}"') > seen, every=0.02):
            raise RuntimeError("Redis does not tell what it is asked")


if __name__ == "__main__":
    main()
