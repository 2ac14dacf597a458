"""A viewer that beats, keeps what is not acked, and reconnects when and as the gateway asks."""

import asyncio
import json
import time
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed

from balance.pair import address_of
from wire.client import beat
from wire.dial import SUBPROTOCOL
from wire.tokens import token

BEAT_SECONDS = 0.5
DRAIN = 1012
BACKOFF_SECONDS = 0.5


@dataclass
class Move:
    """From the goodbye of one gateway to the welcome of another, in seconds of the monotonic clock."""

    left: str
    told: float  # when the goodbye came
    after: float  # what it said, in seconds
    code: int = 0
    came: str = ""
    welcomed: float = 0.0
    failures: int = 0


@dataclass
class Viewer:
    pair: object
    mid: int
    number: int
    place: str = ""
    moves: list = field(default_factory=list)
    lost: list = field(default_factory=list)  # ends of connections without a bye
    delays: list = field(default_factory=list)  # seconds to each ack, and when it came
    sent: int = 0
    acked: int = 0
    acked_at: int = 0

    def __post_init__(self):
        self._waiting = {}  # seq → (at, when it was sent)
        self._again = None  # the newest beat that was not acked when its connection ended
        self._stopping = asyncio.Event()
        self.online = asyncio.Event()

    async def play(self):
        """Until `stop`."""
        move = None
        while not self._stopping.is_set():
            try:
                socket, welcome, self.place = await self._connect()
            except (OSError, ConnectionClosed, asyncio.TimeoutError) as error:
                self.lost.append(repr(error))
                if move:
                    move.failures += 1
                await asyncio.sleep(BACKOFF_SECONDS)
                continue
            if move:
                move.came, move.welcomed = self.place, time.monotonic()
            self.online.set()
            move = await self._watch(socket, welcome)
            self.online.clear()
            if move:
                self.moves.append(move)
                await asyncio.sleep(max(0, move.told + move.after - time.monotonic()))

    def stop(self):
        self._stopping.set()

    def settled(self):
        """Nothing waits for an ack."""
        return self.online.is_set() and not self._waiting and self._again is None

    async def read(self):
        """The `at` of what is stored, read on a new connection."""
        socket, _, _ = await self._connect()
        async with socket:
            await socket.send(json.dumps({"seq": 1, "get": {"items": [{"kind": 1, "oid": "7"}]}}))
            [record] = (await self._frame(socket, "result"))["records"]
            return record["at"] if record else 0

    async def _connect(self):
        offered = [SUBPROTOCOL, f"heartline.token.{token(self.mid)}"]
        return await self.pair.open(address_of(self.number), offered=offered)

    async def _watch(self, socket, welcome):
        """One connection to its end; the move, if a goodbye announced it."""
        offset = welcome["now"] - time.monotonic() * 1000
        beats = asyncio.create_task(self._beat(socket, offset))
        move = None
        try:
            while True:
                frame = json.loads(await socket.recv())
                if "ack" in frame:
                    self._acknowledge(frame["ack"])
                elif "bye" in frame:
                    beats.cancel()
                    move = Move(self.place, time.monotonic(), frame["bye"]["reconnect_after"] / 1000)
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 1006
            if move:
                move.code = code
            elif not self._stopping.is_set():
                self.lost.append(f"closed with {code}")
            return move
        finally:
            beats.cancel()
            if self._waiting:
                self._again = max(at for at, _ in self._waiting.values())
                self._waiting.clear()

    async def _beat(self, socket, offset):
        seq = 0
        try:
            while not self._stopping.is_set():
                at, self._again = self._again or int(time.monotonic() * 1000 + offset), None
                seq += 1
                self._waiting[seq] = (at, time.monotonic())
                self.sent += 1
                # `watched` is too small to earn a reward.
                body = {"items": [beat(7, at, session=str(self.mid), watched=1)]}
                await socket.send(json.dumps({"seq": seq, "beats": body}))
                await asyncio.sleep(BEAT_SECONDS)
            while self._waiting:
                await asyncio.sleep(0.02)
            await socket.close()
        except ConnectionClosed:
            pass  # the reader tells

    def _acknowledge(self, ack):
        if ack.get("rejected"):
            raise AssertionError(f"user {self.mid}: rejected {ack['rejected']}")
        now = time.monotonic()
        for seq in [seq for seq in self._waiting if seq <= ack["seq"]]:
            at, sent = self._waiting.pop(seq)
            self.acked += 1
            self.acked_at = max(self.acked_at, at)
            self.delays.append((now - sent, now))

    async def _frame(self, socket, name):
        while name not in (frame := json.loads(await socket.recv())):
            pass
        return frame[name]
