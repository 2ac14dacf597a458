"""Players: users on sockets who view contents by playing them, each content once."""

import asyncio
import itertools
import json
import random
import threading
import time

from websockets.exceptions import WebSocketException

from wire.dial import GoingAway, dial
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

KIND = 1
FIRST_OID = 1_000
CONTENTS = 20
PAUSE_SECONDS = 0.1
AWAY_SECONDS = (0.1, 0.5)


class Players(threading.Thread):
    """All of them in one event loop. A new user after each view: a user views a content once a day."""

    def __init__(self, count, seed, fleet, book, faults):
        super().__init__(daemon=True)
        self._count, self._dice = count, random.Random(f"{seed} players")
        self._fleet, self._book, self._faults = fleet, book, faults
        self._users, self._ended = itertools.count(1_000_000), threading.Event()

    def end(self):
        self._ended.set()
        self.join()

    def run(self):
        try:
            asyncio.run(self._play_all())
        except Exception as error:
            self._faults.append(("players", f"{type(error).__name__}: {error}"))
            raise

    async def _play_all(self):
        await asyncio.gather(*(self._play() for _ in range(self._count)))

    async def _play(self):
        while not self._ended.is_set():
            user = next(self._users)
            waiting = [FIRST_OID + n for n in range(CONTENTS)]
            while waiting and not self._ended.is_set():
                try:
                    await self._connected(user, waiting)
                except (OSError, WebSocketException, GoingAway, TimeoutError):
                    await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))

    async def _connected(self, user, waiting):
        """Plays on with the contents that have no ack yet."""
        url = self._dice.choice(self._fleet.gateways).ws
        socket, welcome, seq = await dial(url, token(user))
        try:
            ahead = welcome["now"] - time.monotonic() * 1000
            while waiting and not self._ended.is_set():
                oid, seq = waiting[0], seq + 1
                view = f"player {user}"
                self._book.asked(oid, view)
                await socket.send(json.dumps({"seq": seq, "beats": {"items": [_beat(oid, ahead)]}}))
                answer = await self._answer(socket, seq)
                if "error" in answer:
                    # Some shards are not served just now.
                    await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))
                    continue
                if rejected := answer["ack"].get("rejected"):
                    self._faults.append(("players", f"a beat was rejected: {rejected}"))
                self._book.answered(oid, view)
                waiting.pop(0)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            socket.transport.abort()

    async def _answer(self, socket, seq):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                frame = json.loads(await socket.recv())
                if frame.get("ack", frame.get("error", {})).get("seq") == seq:
                    return frame


def _beat(oid, ahead):
    return {
        "kind": KIND,
        "oid": str(oid),
        "pos": 1_000,
        "dur": 60_000,
        "state": "playing",
        "session": "1",
        "watched": 1_000,
        "rate": 1.0,
        "at": int(ahead + time.monotonic() * 1000),
    }
