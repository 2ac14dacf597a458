"""Users on sockets, who come with one of their devices, do some things, and go."""

import asyncio
import json
import random
import threading
import time
from collections import deque

from websockets.exceptions import InvalidStatus, WebSocketException

from derived_audit.habits import DEVICES, operation
from wire.dial import GoingAway, dial
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

CLIENTS = 40
OPERATIONS_A_VISIT = (1, 8)
TOGETHER_MAX = 4
PAUSE_SECONDS = (0.0, 0.3)
AWAY_SECONDS = (0.05, 0.3)
# Some users have several devices at the same time, at any gateways.
BUSY_USERS, BUSY_CHANCE = 10, 0.2
# Newer beats than these were recorded, or they are too old by now.
REJECTED = {"superseded", "expired"}


def some_user(dice, users):
    return dice.choice(users[:BUSY_USERS] if dice.random() < BUSY_CHANCE else users)


class Crowd(threading.Thread):
    """All in one event loop. What was begun is sent again until it is answered, also when the crowd is to end."""

    def __init__(self, seed, users, site, book, faults):
        super().__init__(daemon=True)
        self._dice, self._users = random.Random(f"{seed} crowd"), users
        self._site, self._book, self._faults = site, book, faults
        self._ended = threading.Event()

    def end(self):
        self._ended.set()
        self.join()

    def run(self):
        try:
            asyncio.run(self._all())
        except Exception as error:
            self._faults.append(("crowd", f"{type(error).__name__}: {error}"))
            raise

    async def _all(self):
        await asyncio.gather(*(self._visits() for _ in range(CLIENTS)))

    async def _visits(self):
        while not self._ended.is_set():
            visit = Visit(some_user(self._dice, self._users), self._dice, self._site.late_chance, self._book, self._faults)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not visit.is_over(self._ended):
                    try:
                        await visit.go_on(self._dice.choice(self._site.gateways).ws, self._ended)
                    except (OSError, WebSocketException, GoingAway, InvalidStatus):
                        await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))


class Visit:
    """One device of a user, until all its operations are answered."""

    def __init__(self, mid, dice, late_chance, book, faults):
        self._late_chance = late_chance
        self._mid, self._dice, self._book, self._faults = mid, dice, book, faults
        self._device, self._left = dice.choice(DEVICES), dice.randint(*OPERATIONS_A_VISIT)
        # To be sent; and by `seq`, those without an answer.
        self._next, self._unanswered = deque(), {}
        self._begun = set()

    def is_over(self, ended):
        return not self._unanswered and not self._next and (self._left == 0 or ended.is_set())

    async def go_on(self, url, ended):
        """Sends again what has no answer, and then more, while the connection lasts."""
        self._next.extendleft(reversed(self._unanswered.values()))
        self._unanswered = {}
        socket, welcome, self._seq = await dial(url, token(self._mid), device=self._device)
        clock = welcome["now"] - time.monotonic() * 1_000
        try:
            while not self.is_over(ended):
                if not self._next:
                    self._invent(int(clock + time.monotonic() * 1_000))
                await self._send_some(socket)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while self._unanswered:
                        self._read(json.loads(await socket.recv()))
                await asyncio.sleep(self._dice.uniform(*PAUSE_SECONDS))
        finally:
            socket.transport.abort()

    def _invent(self, now):
        count = min(self._left, self._dice.randint(1, TOGETHER_MAX))
        self._left -= count
        self._next.extend(operation(self._dice, now, self._late_chance) for _ in range(count))

    async def _send_some(self, socket):
        while self._next:
            asked = self._next.popleft()
            self._seq += 1
            self._unanswered[self._seq] = asked
            self._book.asks(self._mid, asked, again=id(asked) in self._begun)
            self._begun.add(id(asked))
            await socket.send(json.dumps({"seq": self._seq, **asked}))

    def _read(self, frame):
        if "ack" in frame:
            for rejection in frame["ack"].get("rejected", ()):
                if rejection["reason"] not in REJECTED:
                    self._faults.append(("crowd", f"a beat of {self._mid} was rejected: {rejection}"))
            for seq in [seq for seq, asked in self._unanswered.items() if seq <= frame["ack"]["seq"] and "beats" in asked]:
                self._answered(seq)
        elif "result" in frame:
            self._answered(frame["result"]["seq"])
        elif "error" in frame:
            error = frame["error"]
            if not error["retry"]:
                self._faults.append(("crowd", f"{self._unanswered.get(error.get('seq'))} was answered {error}"))
            # Some users are not served just now: it is sent again.
            self._next.append(self._unanswered.pop(error["seq"]))
        elif "bye" in frame:
            raise GoingAway(frame["bye"])

    def _answered(self, seq):
        self._book.answered(self._mid, self._unanswered.pop(seq))
