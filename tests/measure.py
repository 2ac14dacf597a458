"""First figures, run by hand: what an idle socket and an acked beat cost the gateway.

    cargo build --release
    PYTHONPATH=tests target/tests/venv/bin/python tests/measure.py target/release/heartline

Sockets of distinct users, each authenticated, are opened by a few processes and left idle (RSS for each); then each
sends one beat every interval (CPU for each acked beat: user and system time of all threads). `tests/run python` makes
the virtual environment. The open files of one process bound the number of sockets: see `ulimit -Hn`.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wire.dial import dial
from wire.gateway import Gateway
from wire.processes import cpu_seconds
from wire.tokens import token

CONNECTING_AT_ONCE = 50


def main():
    args = _arguments()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if args.crowd is not None:
        return asyncio.run(_crowd(args))
    scratch = Path(tempfile.mkdtemp(prefix="heartline-measure-"))
    gateway = Gateway(args.binary, scratch / "data", scratch / "log")
    crowds = []
    try:
        gateway.start()
        empty = _rss(gateway)
        began = time.monotonic()
        crowds += [_start_crowd(args, gateway, n) for n in range(args.processes)]
        _each_says(crowds, "connected")
        print(f"{args.sockets} sockets connected and welcomed in {time.monotonic() - began:.1f} s")
        print(f"RSS: {empty / 1024:.0f} kB empty, {(_rss(gateway) - empty) / args.sockets:.0f} B for each idle socket")
        cpu = cpu_seconds(gateway.process.pid)
        for crowd in crowds:
            crowd.stdin.write("beat\n")
            crowd.stdin.flush()
        answers = [json.loads(crowd.stdout.readline()) for crowd in crowds]
        cpu = cpu_seconds(gateway.process.pid) - cpu
        acked = sum(len(answer) for answer in answers)
        delays = sorted(delay for answer in answers for delay in answer)
        print(f"{acked} beats acked in {args.seconds} s, one a socket every {args.interval} s")
        print(f"CPU: {cpu / acked * 1e6:.1f} us for each acked beat")
        print(f"ack: p50 {delays[acked // 2] * 1e3:.1f} ms, p99 {delays[acked * 99 // 100] * 1e3:.1f} ms")
        print(f"RSS: {(_rss(gateway) - empty) / args.sockets:.0f} B for each socket after its beats")
    finally:
        gateway.kill()
        for crowd in crowds:
            crowd.kill()
            crowd.wait()
        shutil.rmtree(scratch)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--sockets", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--interval", type=float, default=5)
    parser.add_argument("--crowd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    return parser.parse_args()


def _start_crowd(args, gateway, number):
    return subprocess.Popen(
        [sys.executable, *sys.argv, "--crowd", str(number), "--url", gateway.ws],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _each_says(crowds, word):
    for crowd in crowds:
        if (said := crowd.stdout.readline().strip()) != word:
            raise RuntimeError(f"a crowd said {said!r} instead of {word!r}")


def _rss(gateway):
    pages = int(Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def _crowd(args):
    """One process of clients: connects its share, says so, and beats when told to."""
    share = args.sockets // args.processes
    first = 1 + args.crowd * share
    gate = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def connected(mid):
        async with gate:
            return await dial(args.url, token(mid), open_timeout=60)

    clients = await asyncio.gather(*(connected(mid) for mid in range(first, first + share)))
    print("connected", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    until = time.monotonic() + args.seconds
    delays = await asyncio.gather(*(_beat(*client, args.interval, until) for client in clients))
    print(json.dumps([delay for one in delays for delay in one]), flush=True)


async def _beat(socket, welcome, seq, interval, until):
    """One user watching one video; the seconds that each ack took."""
    began, session, delays = time.monotonic(), str(random.getrandbits(64)), []
    await asyncio.sleep(random.uniform(0, interval))
    while time.monotonic() < until:
        seq, sent = seq + 1, time.monotonic()
        played = int((sent - began) * 1000)
        beat = {"kind": 1, "oid": "100", "pos": played, "dur": 5_400_000, "state": "playing", "session": session}
        beat |= {"watched": max(1, played), "at": welcome["now"] + played}
        await socket.send(json.dumps({"seq": seq, "beats": {"items": [beat]}}, separators=(",", ":")))
        while json.loads(await socket.recv()).get("ack", {}).get("seq") != seq:
            pass
        delays.append(time.monotonic() - sent)
        await asyncio.sleep(interval - delays[-1])
    return delays


if __name__ == "__main__":
    main()
