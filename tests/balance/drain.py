"""`python -m balance.drain BINARY`: one gateway after the other is drained and started again, under a crowd.

Both stand on one Redis, behind HAProxy. Every user who is told goodbye comes back when he was told, to the other gateway,
at his first attempt; nothing that was acked is lost, and nobody who was not told notices. They come back spread over the
time that the protocol names.
"""

import argparse
import asyncio
import collections
import random
import sys
import time
from pathlib import Path

from balance.pair import MARKS, Pair, expect
from balance.viewer import DRAIN, Viewer
from tiers.redis_server import SINGLE, Redis
from wire.gateway import Gateway

FIRST_MID = 5_000_000
# What `reconnect_after` may be.
SOONEST_SECONDS, LATEST_SECONDS = 0.2, 10.0
# From when a client may come to when it is welcomed, on a machine that has other things to do.
WELCOME_SECONDS_MAX = 2.0
# Uniform over ten seconds: each second has a tenth. Of 250 that is 25, with a deviation of 4.7.
SHARE_MAX, SHARE_MIN = 0.2, 0.03
# In any quarter of a second a fortieth; of 250 that is 6, with a deviation of 2.5.
QUARTER_SHARE_MAX = 0.1
ACK_SECONDS_MAX = 5.0
SETTLE_SECONDS_MAX = 30


def on_redis(binary):
    """Begins a pair on one new Redis."""

    def begin(scratch):
        redis = Redis(SINGLE, scratch / "redis").start()
        settings = {"STORE__HOT_STORE": "redis", "REDIS__URL": redis.url}
        Gateway(binary, scratch / "init", scratch / "init.log", **settings).run("init")
        return settings, redis.stop

    return begin


class Drain:
    def __init__(self, pair, sockets):
        self.pair = pair
        self.viewers = [Viewer(pair, FIRST_MID + n, n) for n in range(sockets)]

    async def run(self):
        plays = [asyncio.create_task(viewer.play()) for viewer in self.viewers]
        await self._until("everybody is online", lambda: all(v.online.is_set() for v in self.viewers))
        for name, gateway in self.pair.gateways.items():
            await asyncio.sleep(2)
            await self.drain(name, gateway)
        for viewer in self.viewers:
            viewer.stop()
        await asyncio.gather(*plays)
        await self.judge_stored()

    async def drain(self, name, gateway):
        """SIGTERM, and everybody is somewhere else; then it is started again."""
        leaving = [viewer for viewer in self.viewers if viewer.place == name]
        staying = [viewer for viewer in self.viewers if viewer.place != name]
        gone = [len(viewer.lost) for viewer in staying]
        began = time.monotonic()
        gateway.process.terminate()
        code = await asyncio.to_thread(gateway.wait)
        ended = time.monotonic() - began
        expect(code == 0, f"{name} ended with {code}")
        await self._until("all have come back", lambda: all(v.online.is_set() for v in leaving))
        await self._until("all is acked", lambda: all(v.settled() for v in self.viewers))
        moves = [viewer.moves[-1] for viewer in leaving]
        self.judge_moves(name, moves)
        expect([len(viewer.lost) for viewer in staying] == gone, "somebody lost a socket to the gateway that stayed")
        slowest = max(delay for viewer in staying for delay, came in viewer.delays if came >= began) if staying else 0
        expect(slowest <= ACK_SECONDS_MAX, f"an ack of the other gateway took {slowest:.1f} s")
        print(
            f"{name} drained in {ended:.2f} s: {len(leaving)} users moved at their first attempt, "
            f"{len(staying)} stayed, their slowest ack {slowest * 1000:.0f} ms"
        )
        print(histogram([move.welcomed - move.told for move in moves]), flush=True)
        gateway.start()
        self.pair.balancer.wait_until(*MARKS.values())

    def judge_moves(self, left, moves):
        for move in moves:
            expect(move.left == left and move.code == DRAIN, f"closed with {move.code}: {move}")
            expect(SOONEST_SECONDS <= move.after <= LATEST_SECONDS, f"told to come back after {move.after} s")
            expect(move.came not in ("", left) and not move.failures, f"did not come to the other one at once: {move}")
            late = move.welcomed - move.told - move.after
            expect(0 <= late <= WELCOME_SECONDS_MAX, f"welcomed {late:.2f} s after the time that was told")
        told = [move.after for move in moves]
        seconds = collections.Counter(int(after) for after in told)
        shares = [seconds[second] / len(told) for second in range(int(LATEST_SECONDS))]
        expect(max(shares) <= SHARE_MAX and min(shares) >= SHARE_MIN, f"they were not told to spread: {shares}")
        quarters = collections.Counter(int(move.welcomed * 4) for move in moves)
        crowd = max(quarters.values())
        expect(crowd <= max(3, QUARTER_SHARE_MAX * len(moves)), f"{crowd} of {len(moves)} came in a quarter of a second")

    async def judge_stored(self):
        """What was acked is there, itself or something newer, and everything that was sent was acked."""
        stored = await asyncio.gather(*(viewer.read() for viewer in self.viewers))
        lost = [viewer.mid for viewer, at in zip(self.viewers, stored) if at < viewer.acked_at]
        expect(not lost, f"{len(lost)} users lost what was acked: {lost[:5]}")
        unannounced = [line for viewer in self.viewers for line in viewer.lost]
        expect(not unannounced, f"{len(unannounced)} connections were lost without a goodbye: {unannounced[:3]}")
        acked = sum(viewer.acked for viewer in self.viewers)
        print(f"{acked} beats acked, 0 lost")

    async def _until(self, what, holds):
        give_up = time.monotonic() + SETTLE_SECONDS_MAX
        while not holds():
            expect(time.monotonic() < give_up, f"never came: {what}")
            await asyncio.sleep(0.01)


def histogram(seconds):
    """How many came back in each second after their goodbye."""
    counts = collections.Counter(int(second) for second in seconds)
    return "\n".join(f"  {n:2d}–{n + 1:2d} s {counts[n]:4d} {'#' * counts[n]}" for n in range(max(counts) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--sockets", type=int, default=500)
    args = parser.parse_args()
    with Pair(args.binary, begin=on_redis(args.binary)) as pair:
        asyncio.run(Drain(pair, args.sockets).run())


if __name__ == "__main__":
    sys.exit(main())
