"""`python -m faults.node_away BINARY`: a node of a Redis Cluster is killed, then stopped, while users play.

Its users wait, and go on when it is back. The users of the other nodes do not notice: of their acks the 99th percentile may
grow to twice what it was. The best of the rounds counts, since other work on the machine comes and goes.
"""

import asyncio
import itertools
import re
import sys
import time

from websockets.exceptions import ConnectionClosed

from faults.scene import Scene, arguments
from tiers.redis_server import CLUSTER
from wire.client import Client, beat
from wire.http import call
from wire.metrics import metrics
from wire.patience import until_meanwhile

SERVED = re.compile(r"^heartline_store_served_ratio (\S+)$", re.M)
USERS = range(1, 301)
# And the node that it comes to first: the last one has shard 0, and with it what all users share.
FAULTS = {"SIGKILL": 0, "SIGSTOP": 2}
APART_SECONDS = 0.4
# Of each user, before and while a node is away: that is at least until the gateway says so.
QUIET_BEATS = 8
AWAY_BEATS = 15
# What so many beats may take while a node is away, by what they have taken before.
HELD_UP_RATIO_MAX = 4
OVERLOADED = 1013
# A faster 99th percentile is noise.
FLOOR_MS = 8


def main():
    args = arguments(__doc__, rounds=3, ratio_max=2.0)
    with Scene(args) as scene:
        redis, gateway = scene.gateway_on(CLUSTER)
        asyncio.run(NodeAway(scene, redis, gateway).run())
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
        sys.exit(scene.verdict())


class NodeAway:
    def __init__(self, scene, redis, gateway):
        self._scene, self._redis, self._gateway = scene, redis, gateway

    async def run(self):
        players = [Player(await Client.open(self._gateway, mid), mid) for mid in USERS]
        await asyncio.gather(*(player.beat() for player in players))
        homes = {mid: node for node in self._redis.nodes for mid in users_of(node)}
        for fault, first in FAULTS.items():
            ratios = []
            for number in range(self._scene.args.rounds):
                victim = self._redis.nodes[(first + number) % len(self._redis.nodes)]
                theirs = [player for player in players if homes[player.mid] is victim]
                others = [player for player in players if homes[player.mid] is not victim]
                ratios.append(await self.round(fault, victim, theirs, others))
                if ratios[-1] <= self._scene.args.ratio_max:
                    break
            best = min(ratios)
            self._scene.expect(
                best <= self._scene.args.ratio_max, f"{fault}: p99 of the others is {best:.1f} times what it was"
            )
        await self.read_back(players)

    async def round(self, fault, victim, theirs, others):
        self._scene.expect(len(theirs) > 50 and len(others) > 100, f"{len(theirs)} and {len(others)} users")
        began = time.monotonic()
        quiet = await self.phase(QUIET_BEATS, [*others, *theirs], others)
        beats_max = HELD_UP_RATIO_MAX * AWAY_BEATS / QUIET_BEATS * (time.monotonic() - began)
        put_away(fault, victim)
        gone = time.monotonic()
        waiting = [asyncio.create_task(player.play(1)) for player in theirs]
        # Seldom, so that the looks do not slow down what is measured.
        looks = until_meanwhile("/readyz tells of it", lambda: asyncio.to_thread(self.is_partly_served), every=0.5)
        noticed = asyncio.create_task(looks)
        try:
            async with asyncio.timeout(beats_max):
                away = await self.phase(AWAY_BEATS, others, others, noticed.done)
        except TimeoutError:
            self._scene.fault(f"{fault}: users of other nodes wait for the node that is away")
            sys.exit(self._scene.verdict())
        await noticed
        self.counts_served(others, theirs)
        await self.serves_others(others[0], theirs[0].mid, others[1].mid)
        acked = sum(player.acked_since(gone) for player in theirs)
        self._scene.expect(acked == 0, f"{fault}: {acked} acks while their node was away")
        began = time.monotonic()
        bring_back(fault, victim)
        await until_meanwhile("all acked when their node is back", lambda: all(task.done() for task in waiting))
        await asyncio.gather(*waiting)
        back = time.monotonic() - began
        await until_meanwhile("ready when the node is back", lambda: self.readyz() == (200, {"ready": True}))
        ratio = away / max(quiet, FLOOR_MS)
        self._scene.say(
            f"{fault} of the node of {len(theirs)} users: p99 of {len(others)} others {quiet:.1f} ms before, {away:.1f} "
            f"meanwhile; all of them acked {back:.1f} s after it was back"
        )
        return ratio

    async def phase(self, beats, players, measured, enough=lambda: True):
        """The 99th percentile of the acks of `measured`, milliseconds; so many of each, and until it is enough."""
        taken = await asyncio.gather(*(player.play(beats, enough) for player in players))
        of = set(measured)
        times = sorted(itertools.chain(*(times for player, times in zip(players, taken, strict=True) if player in of)))
        return times[len(times) * 99 // 100]

    def readyz(self):
        answer = call(self._gateway.admin, "GET", "/readyz")
        return answer.status, answer.json()

    def is_partly_served(self):
        status, body = self.readyz()
        return status == 200 and any("of the users" in reason for reason in body.get("degraded", ()))

    def counts_served(self, others, theirs):
        served = float(SERVED.search(metrics(self._gateway))[1])
        share = len(others) / (len(others) + len(theirs))
        self._scene.expect(abs(served - share) < 0.15, f"{served} served, {share} of the users are others")

    async def serves_others(self, other, waits, served):
        """Reads and new sockets, too."""
        records = await other.client.get(1)
        self._scene.expect(records and records[0], f"a get of another user was answered {records}")
        answer = call(self._gateway.http, "GET", "/v1/history", mid=waits)
        self._scene.expect(answer.status == 503, f"a list of a waiting user was answered {answer}")
        try:
            await Client.open(self._gateway, waits)
            self._scene.fault("a new socket of a waiting user was welcomed")
        except ConnectionClosed as closed:
            self._scene.expect(closed.rcvd.code == OVERLOADED, f"a new socket of a waiting user was closed: {closed}")
        async with await Client.open(self._gateway, served) as client:
            self._scene.expect((await client.get(1))[0], "a new socket of another user finds nothing")

    async def read_back(self, players):
        for player in players:
            record = (await player.client.get(1))[0]
            told = (record["at"], record["pos"])
            self._scene.expect(told == player.last, f"user {player.mid}: acked {player.last}, stored {told}")
            await player.client.socket.close()


class Player:
    """A user who plays one content, one beat in flight."""

    def __init__(self, client, mid):
        self.client, self.mid = client, mid
        self.last, self._acks = None, []

    async def beat(self):
        """Milliseconds until its ack."""
        began, at, pos = time.monotonic(), self.client.now(), len(self._acks)
        rejected = await self.client.beats(beat(1, at, pos=pos, session="1"))
        if rejected:
            raise AssertionError(f"user {self.mid}: rejected {rejected}")
        self._acks.append(time.monotonic())
        self.last = (at, pos)
        return 1000 * (self._acks[-1] - began)

    async def play(self, beats, enough=lambda: True):
        """So many, and until it is enough; begins at a moment of its own within the time between two."""
        taken = []
        await asyncio.sleep(APART_SECONDS * (self.mid % 100) / 100)
        while len(taken) < beats or not enough():
            taken.append(await self.beat())
            await asyncio.sleep(APART_SECONDS)
        return taken

    def acked_since(self, moment):
        return sum(ack > moment for ack in self._acks)


def users_of(node):
    """By their keys, whose names end with the user's id."""
    return [int(key.rsplit(":", 1)[1]) for key in node.cli("--scan", "--pattern", "{h*}:h:*")]


def put_away(fault, node):
    if fault == "SIGKILL":
        node.kill()
    else:
        node.pause()


def bring_back(fault, node):
    if fault == "SIGKILL":
        node.start()
    else:
        node.resume()


if __name__ == "__main__":
    main()
