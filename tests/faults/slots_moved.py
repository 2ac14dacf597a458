"""`python -m faults.slots_moved BINARY`: slots of a Redis Cluster move to another node, key by key, while their users play.

What was acked is there afterwards, what was deleted stays away, and no script was broken off: a call waits until all keys
of its shard are on one node.
"""

import asyncio
import itertools
import re
import sys

from faults.scene import Scene, arguments
from tiers.redis_server import CLUSTER
from wire.client import Client, beat, item
from wire.metrics import metrics
from wire.patience import PATIENCE_SECONDS, until_meanwhile

USERS = range(1, 401)
APART_SECONDS = 0.3
# Changes of all users from one key of a slot to the next: so long its keys are on two nodes.
KEY_STEPS = len(USERS)
FAILURES = re.compile(r'^heartline_redis_commit_failures_total\{kind="(\w+)"\} (\d+)$', re.M)


def main():
    args = arguments(__doc__, slots=8)
    with Scene(args) as scene:
        redis, gateway = scene.gateway_on(CLUSTER)
        asyncio.run(SlotsMoved(scene, redis, gateway).run())
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
        sys.exit(scene.verdict())


class SlotsMoved:
    def __init__(self, scene, redis, gateway):
        self._scene, self._redis, self._gateway = scene, redis, gateway

    async def run(self):
        players = [Player(await Client.open(self._gateway, mid), mid) for mid in USERS]
        await asyncio.gather(*(player.step(0) for player in players))
        stop = asyncio.Event()
        self._playing = [asyncio.create_task(player.play(stop)) for player in players]
        moved = await self.move_slots(players)
        before = [player.steps for player in players]
        await self.players_come_to(
            "a change of every user", lambda: all(player.steps > steps for player, steps in zip(players, before))
        )
        stop.set()
        await asyncio.gather(*self._playing)
        for player in players:
            await self.read_back(player)
        failures = dict(FAILURES.findall(metrics(self._gateway)))
        self._scene.expect(failures["refused"] == "0", f"scripts were broken off: {failures}")
        retried = int(failures["moved"])
        self._scene.expect(retried > 0, "no call came while its keys moved")
        self._scene.say(f"{steps_of(players)} changes of {len(players)} users; {moved} keys moved, {retried} calls waited for them")

    async def move_slots(self, players):
        """Slots that have users, each to the next node. Returns the number of keys."""
        nodes, moved = self._redis.nodes, 0
        ids = [node.cli("CLUSTER", "MYID")[0] for node in nodes]
        for number in range(self._scene.args.slots):
            place = number % len(nodes)
            there = (place + 1) % len(nodes)
            head = next(itertools.islice(heads(nodes[place]), number, None))
            slot = nodes[place].cli("CLUSTER", "KEYSLOT", head)[0]
            nodes[there].cli("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[place])
            nodes[place].cli("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[there])
            # Keys may be made meanwhile.
            while keys := [key for key in nodes[place].cli("CLUSTER", "GETKEYSINSLOT", slot, "1000") if key]:
                key = min(keys, key=rank)
                said = nodes[place].cli("MIGRATE", "127.0.0.1", str(nodes[there].port), key, "0", "5000")
                self._scene.expect(said in (["OK"], ["NOKEY"]), f"MIGRATE {key} says {said}")
                moved += 1
                enough = steps_of(players) + KEY_STEPS
                await self.players_come_to(f"{KEY_STEPS} changes", lambda enough=enough: steps_of(players) >= enough)
            # The new owner first, or the slot would have none for a moment.
            for node in (nodes[there], nodes[place], *nodes):
                node.cli("CLUSTER", "SETSLOT", slot, "NODE", ids[there])
        return moved

    async def players_come_to(self, what, holds):
        def so_far():
            for task in self._playing:
                if task.done():
                    task.result()  # it has failed: players go on until they are told to stop
            return holds()

        await until_meanwhile(what, so_far)

    async def read_back(self, player):
        stored = {int(record["oid"]): (record["at"], record["pos"]) for record in await player.client.list()}
        self._scene.expect(stored == player.acked, f"user {player.mid}: acked {player.acked}, stored {stored}")
        await player.client.socket.close()


class Player:
    """A user who goes from one new content to the next, and deletes one now and then."""

    def __init__(self, client, mid):
        self.client, self.mid = client, mid
        self.acked, self.steps = {}, 0

    async def play(self, stop):
        while not stop.is_set():
            await self.step(self.steps // 3)
            await asyncio.sleep(APART_SECONDS)

    async def step(self, oid):
        self.steps += 1
        if self.steps % 10 == 0 and oid in self.acked:
            return await self.delete(oid)
        at = self.client.now()
        rejected = await self.client.beats(beat(oid, at, pos=self.steps, session=str(oid + 1)))
        if rejected:
            raise AssertionError(f"user {self.mid}: rejected {rejected}")
        self.acked[oid] = (at, self.steps)

    async def delete(self, oid):
        """Again until it is answered: a commit that waits for its keys may take longer than a request."""
        at = self.client.now()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                await self.client.send(delete={"items": [item(oid)], "at": at})
                name, body = await self.client.frame("result", "error")
                if name == "result":
                    del self.acked[oid]
                    return
                if body["code"] != "unavailable":
                    raise AssertionError(f"a delete was answered {body}")
                await asyncio.sleep(APART_SECONDS)


def steps_of(players):
    return sum(player.steps for player in players)


def rank(key):
    """What a head belongs to goes before it: a script that has begun by it would find the rest gone."""
    return (":deployment" in key, ":h:" in key)


def heads(node):
    return sorted(node.cli("--scan", "--pattern", "{h*}:h:*"))


if __name__ == "__main__":
    main()
