"""`python -m balance.drain BINARY`: one gateway after the other is drained and started again, under a crowd.

Both use one Redis, behind HAProxy. Every user that gets a bye reconnects at the given time, to the other gateway, at
the first attempt. No acked beat is lost, and users without a bye notice nothing. Reconnects are spread over the time
that the protocol names.
"""

import argparse
import asyncio
import collections
import sys
import time
from pathlib import Path

from balance.pair import MARKS, Pair, expect
from balance.viewer import DRAIN, Viewer
from tiers.redis_server import SINGLE, Redis
from wire.gateway import Gateway
from wire.patience import until_meanwhile

FIRST_MID = 5_000_000
# What `reconnect_after` may be.
SOONEST_SECONDS, LATEST_SECONDS = 0.2, 10.0
# From when a client may come to when it is welcomed, by the slowest ack before: a welcome takes more exchanges, and what
# goes on in a drain may take some time.
WELCOME_RATIO_MAX = 20
# Of the users who stay: their slowest ack, by the slowest before.
ACK_RATIO_MAX = 10
# A faster ack is noise.
ACK_SECONDS_MIN = 0.1
# Uniform over ten seconds: each second has a tenth. Of 250 that is 25, with a deviation of 4.7.
SHARE_MAX, SHARE_MIN = 0.2, 0.03
# In any quarter of a second a fortieth; of 250 that is 6, with a deviation of 2.5.
QUARTER_SHARE_MAX = 0.1
# Of each user before a drain: then the time that an ack takes is known.
ACKS_BEFORE = 4


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
        await until_meanwhile("everybody is online", lambda: all(v.online.is_set() for v in self.viewers))
        for name, gateway in self.pair.gateways.items():
            await self.drain(name, gateway, await self.slowest_in_peace())
        for viewer in self.viewers:
            viewer.stop()
        await asyncio.gather(*plays)
        await self.judge_stored()

    async def slowest_in_peace(self):
        """Seconds of an ack, when nothing else goes on."""
        began, before = time.monotonic(), [viewer.acked for viewer in self.viewers]
        enough = [acked + ACKS_BEFORE for acked in before]
        await until_meanwhile(
            f"{ACKS_BEFORE} acks of every viewer", lambda: all(v.acked >= acks for v, acks in zip(self.viewers, enough))
        )
        return max(ACK_SECONDS_MIN, slowest_since(began, self.viewers))

    async def drain(self, name, gateway, in_peace):
        """SIGTERM; when all users are on the other gateway, it is started again."""
        leaving = [viewer for viewer in self.viewers if viewer.place == name]
        staying = [viewer for viewer in self.viewers if viewer.place != name]
        gone = [len(viewer.lost) for viewer in staying]
        began = time.monotonic()
        gateway.process.terminate()
        code = await asyncio.to_thread(gateway.wait)
        ended = time.monotonic() - began
        expect(code == 0, f"{name} ended with {code}")
        await until_meanwhile("all have come back", lambda: all(v.online.is_set() for v in leaving))
        await until_meanwhile("all is acked", lambda: all(v.settled() for v in self.viewers))
        moves = [viewer.moves[-1] for viewer in leaving]
        self.judge_moves(name, moves, WELCOME_RATIO_MAX * in_peace)
        expect([len(viewer.lost) for viewer in staying] == gone, "somebody lost a socket to the gateway that stayed")
        slowest = slowest_since(began, staying)
        expect(slowest <= ACK_RATIO_MAX * in_peace, f"an ack of the other gateway took {slowest:.1f} s, not {in_peace:.2f}")
        print(
            f"{name} drained in {ended:.2f} s: {len(leaving)} users moved at their first attempt, "
            f"{len(staying)} stayed, their slowest ack {slowest * 1000:.0f} ms"
        )
        print(histogram([move.welcomed - move.told for move in moves]), flush=True)
        gateway.start()
        self.pair.balancer.wait_until(*MARKS.values())

    def judge_moves(self, left, moves, late_max):
        for move in moves:
            expect(move.left == left and move.code == DRAIN, f"closed with {move.code}: {move}")
            expect(SOONEST_SECONDS <= move.after <= LATEST_SECONDS, f"told to come back after {move.after} s")
            expect(move.came not in ("", left) and not move.failures, f"did not come to the other one at once: {move}")
            late = move.welcomed - move.told - move.after
            expect(0 <= late <= late_max, f"welcomed {late:.2f} s after the time that was told")
        told = [move.after for move in moves]
        seconds = collections.Counter(int(after) for after in told)
        shares = [seconds[second] / len(told) for second in range(int(LATEST_SECONDS))]
        expect(max(shares) <= SHARE_MAX and min(shares) >= SHARE_MIN, f"they were not told to spread: {shares}")
        quarters = collections.Counter(int(after * 4) for after in told)
        crowd = max(quarters.values())
        most = max(3, QUARTER_SHARE_MAX * len(moves))
        expect(crowd <= most, f"{crowd} of {len(moves)} were told to come in a quarter of a second")

    async def judge_stored(self):
        """What was acked is there, itself or something newer, and everything that was sent was acked."""
        stored = await asyncio.gather(*(viewer.read() for viewer in self.viewers))
        lost = [viewer.mid for viewer, at in zip(self.viewers, stored) if at < viewer.acked_at]
        expect(not lost, f"{len(lost)} users lost what was acked: {lost[:5]}")
        unannounced = [line for viewer in self.viewers for line in viewer.lost]
        expect(not unannounced, f"{len(unannounced)} connections were lost without a goodbye: {unannounced[:3]}")
        acked = sum(viewer.acked for viewer in self.viewers)
        print(f"{acked} beats acked, 0 lost")


def slowest_since(moment, viewers):
    """Seconds of an ack that came after it; 0 without one."""
    return max((delay for viewer in viewers for delay, came in viewer.delays if came >= moment), default=0)


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
