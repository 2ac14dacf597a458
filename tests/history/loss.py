"""Redis loses everything under load, by FLUSHALL or with its append-only file; `heartline rebuild` brings back what was on the
bus: it is read at the first ask, nothing comes twice, and no reward is given twice."""

import asyncio
import json
import shutil
import threading
import time

from history import reads
from history.habits import wall_ms
from history.scene import INTERVAL_MS
from history.topic import QUARANTINE
from wire.client import Client, beat
from wire.dial import dial
from wire.gateway import StartFailed
from wire.tokens import token

STEADY = range(930_001, 930_101)  # users who did all before, and were carried
PLAYERS = range(931_001, 931_061)  # users who play while Redis is lost
NEW = 932_001  # a user without any records
OLD_OID, NEW_OID = 1, 2
PLAY_SECONDS = 6.0
# What was acked longer before the loss was on the bus.
CARRIED_MS = INTERVAL_MS + 5_000
REWARDS = "heartline.rewards"
REWARD = "dev.heartline.reward.v1"


def run(part, losses):
    for lose in part.dice.sample((_flush, _lose_file), losses):
        if not part.faults:
            _round(part, lose)


def _round(part, lose):
    scene, name = part.scene, lose.__name__.strip("_")
    part.figures.add(part.crowd.visit(STEADY, scene.places, (3, 10)))
    scene.wait_until_drained()
    play = Play(scene.gateways)
    play.start()
    time.sleep(PLAY_SECONDS)
    lost_at = wall_ms()
    lose(scene)
    time.sleep(1)
    play.stop()
    _refuses_while_gateways_run(part)
    for gateway in scene.gateways:
        gateway.stop()
    # Leases that gateways have written since.
    scene.redis.nodes[0].cli("FLUSHALL")
    _says_what_is_lost(part)
    if list(scene.topic.messages(QUARANTINE)):
        part.expect("could not be read" in _refusal(scene), "rebuild", "the quarantine is not told")
        scene.topic.delete(QUARANTINE)
    began = time.monotonic()
    said = _rebuild(scene)
    part.expect("Redis is rebuilt" in said, "rebuild", said)
    part.expect("nothing to do" in _rebuild(scene), "rebuild", "a second rebuild does something")
    for gateway in scene.gateways:
        gateway.start()
    scene.wait_until_ready()
    acked = asyncio.run(_first_ack(scene.gateways[0]))
    seconds = time.monotonic() - began
    reads.judge(part, STEADY)
    lost = asyncio.run(_judge_play(part, play, lost_at))
    # They go on, with what they know of themselves: nothing is refused that should not be, and versions do not go back.
    part.figures.add(part.crowd.visit(STEADY, scene.places, (2, 10)))
    reads.judge(part, STEADY)
    scene.wait_until_drained()
    part.judge(STEADY)
    rewards = _judge_rewards(part)
    part.expect(rewards >= len(PLAYERS), "rewards", f"there are only {rewards} rewards")
    made = scene.counted("heartline_heads_made_total", scene.gateways)
    print(
        f"loss ({name}): {play.count} beats acked by {len(play.acked)} contents, {lost} of them lost, all acked within the last "
        f"{CARRIED_MS / 1000:.0f} s; from the rebuild to the first ack {seconds:.1f} s (that took {acked * 1000:.0f} ms); "
        f"{made:.0f} heads made, {rewards} rewards, each once; {len(part.faults)} faults",
        flush=True,
    )


class Play:
    """Players who each watch two contents, with the time of each ack."""

    def __init__(self, gateways):
        self._gateways = gateways
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._play()))
        self.acked = {}  # (mid, oid) -> [(at, acked at)]
        self.count = 0

    def start(self):
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()

    async def _play(self):
        await asyncio.gather(*(self._player(mid) for mid in PLAYERS))

    async def _player(self, mid):
        gateway = self._gateways[mid % len(self._gateways)]
        client = Client(*await dial(gateway.ws, token(mid), device="tv"))
        turn = 0
        while not self._stop.is_set():
            turn += 1
            oid, at = (OLD_OID, NEW_OID)[turn % 2], client.now()
            sent = asyncio.create_task(client.beats(beat(oid, at, pos=turn * 1_000, watched=turn * 6_000, session=str(mid))))
            while not sent.done() and not self._stop.is_set():
                await asyncio.wait([sent], timeout=0.1)
            if not sent.done():
                sent.cancel()
                break
            if sent.exception() or sent.result():
                break
            self.acked.setdefault((mid, oid), []).append((at, wall_ms()))
            self.count += 1
            await asyncio.sleep(0.05)
        client.socket.transport.abort()


def _flush(scene):
    scene.redis.nodes[0].cli("FLUSHALL")


def _lose_file(scene):
    """Redis is killed, and starts without its data."""
    node = scene.redis.nodes[0]
    [_, directory] = node.cli("CONFIG", "GET", "dir")
    [_, name] = node.cli("CONFIG", "GET", "appenddirname")
    node.kill()
    shutil.rmtree(f"{directory}/{name}")
    node.start()


def _refuses_while_gateways_run(part):
    said = _refusal(part.scene)
    part.expect("connected to Redis" in said or "FLUSHALL" in said, "rebuild", f"with gateways it says {said}")


def _refusal(scene):
    try:
        return _rebuild(scene)
    except StartFailed as refused:
        return refused.stderr


def _says_what_is_lost(part):
    """--dry-run changes nothing."""
    said = _rebuild(part.scene, "--dry-run")
    part.expect("nothing was changed" in said and "the newest pack is" in said, "rebuild", f"--dry-run says {said}")
    keys = part.scene.redis.nodes[0].cli("DBSIZE")
    part.expect(keys == ["0"], "rebuild", f"--dry-run leaves {keys} keys")


def _rebuild(scene, *words):
    """What it says."""
    return scene.gateways[0].completed("rebuild", *words).stderr


async def _first_ack(gateway):
    """How long the first beat of a new user took."""
    async with await Client.open(gateway, NEW) as client:
        began = time.monotonic()
        await client.beats(beat(NEW_OID, client.now()))
        return time.monotonic() - began


async def _judge_play(part, play, lost_at):
    """What was acked long enough before the loss is there, or what was acked after it; how many beats are not there."""
    lost, gateways = 0, part.scene.gateways
    for mid in PLAYERS:
        async with await Client.open(gateways[mid // 2 % len(gateways)], mid) as client:
            found = await client.get(OLD_OID, NEW_OID)
            listed = {int(record["oid"]): record["at"] for record in await client.list(limit=1)}
        for oid, record in zip((OLD_OID, NEW_OID), found):
            acked = play.acked.get((mid, oid), [])
            at = record["at"] if record else 0
            carried = max((at for at, when in acked if when <= lost_at - CARRIED_MS), default=0)
            part.expect(at >= carried, "loss", f"user {mid}, content {oid}: {at} is there, {carried} was on the bus")
            part.expect(at in {0, *(at for at, _ in acked)}, "loss", f"user {mid}, content {oid}: {at} was never acked")
            part.expect(listed.get(oid, 0) == at, "loss", f"user {mid}, content {oid}: listed {listed.get(oid)}, got {at}")
            lost += sum(1 for acked_at, _ in acked if acked_at > at)
    return lost


def _judge_rewards(part):
    """An event may come twice, but of one claim only; how many rewards there are."""
    claims = {}
    for message in part.scene.topic.messages(REWARDS):
        headers = {name.removeprefix("ce_"): value.decode() for name, value in message.headers}
        if headers.get("type") == REWARD:
            claims.setdefault(headers["id"], set()).add(json.loads(message.value)["claimed_at"])
    twice = {claim: moments for claim, moments in claims.items() if len(moments) > 1}
    part.expect(not twice, "rewards", f"{len(twice)} rewards were given twice: {list(twice.items())[:3]}")
    return len(claims)
