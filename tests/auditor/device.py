"""One device on the wire: connects, resends what was not answered, and goes on until the gateway is gone.

Where there are several gateways each connection goes to any of them, and another takes the place of one that is gone.
"""

import asyncio
import itertools
import json
import time
from collections import deque

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from auditor.journal import wall_ms
from wire.dial import PLACES, GoingAway, dial
from wire.tokens import token

PAUSE_SECONDS = (0.06, 0.4)  # between frames: under the 20 a second that one connection may send
AWAY_SECONDS = (0.2, 1.0)  # after being turned away
AT_ONCE = 50  # frames after a reconnect: half of the burst that is allowed
CUT_CHANCE = 0.004  # of dropping the connection after a frame, as a phone in a tunnel does
# Flags that mean nothing, and are sent now and then.
NO_FLAGS = ("2000-01-01", "9999-12-31", "today", "")
NO_FLAG_CHANCE = 0.2
FLAG_CHANCE = 0.5  # of sending the one that was told

_connections = itertools.count(1)


class Device:
    """`crowded`: whether others are there, so that the gateway may turn it away for now. `late`: seconds before it first
    comes. `ack_delay`: milliseconds that it lets steady beats wait for their ack."""

    def __init__(self, habits, journal, crowded=False, late=0, ack_delay=0):
        self._habits, self._journal, self._crowded = habits, journal, crowded
        self._late, self._flag, self._ack_delay = late, None, ack_delay
        self._mid, self._dice = habits.viewer.mid, habits.dice
        self._unanswered = {}  # seq -> operation to resend after a reconnect
        self._again = deque()  # of those, what is still to be resent

    async def play(self, urls):
        """Returns when the only gateway is gone; with several it goes on until it is cancelled."""
        await asyncio.sleep(self._late)
        self._late = 0
        while True:
            place, dialed = self._dice.choice(PLACES), wall_ms()
            try:
                url = self._dice.choice(urls)
                socket, welcome, seq = await dial(url, token(self._mid), place, self._habits.device, self._ack_delay)
            except InvalidStatus as refused:
                if not self._crowded or refused.response.status_code != 503:
                    raise
                await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))
                continue
            except (OSError, WebSocketException, GoingAway):
                lost = True
            else:
                lost = await self._use(socket, welcome, seq, dialed)
            if lost and len(urls) == 1:
                return
            if lost:
                await asyncio.sleep(self._dice.uniform(*AWAY_SECONDS))

    async def _use(self, socket, welcome, seq, dialed):
        """True when the connection was lost rather than dropped on purpose."""
        self._connection = next(_connections)
        self._seq, self._listing, self._next_page = seq, False, None
        self._clock = welcome["now"] - _monotonic_ms()
        self._flag = welcome.get("flag", self._flag)
        self._again = deque([*self._take_unanswered(), *self._again])
        self._journal.open(self._mid, self._connection, self._habits.device, welcome, dialed)
        reader = asyncio.create_task(self._read(socket))
        dropped = parked = False
        try:
            first = self._seq
            while not (reader.done() or dropped):
                await self._send(socket, self._next())
                await asyncio.wait({reader}, timeout=self._pause_seconds(self._seq - first))
                dropped = self._dice.random() < CUT_CHANCE
        except ConnectionClosed:
            pass
        except asyncio.CancelledError:
            dropped = parked = True
        if dropped:
            socket.transport.abort()
        while not reader.done():
            try:
                await asyncio.wait({reader})
            except asyncio.CancelledError:
                parked = True  # the end is noted first
        reader.result()
        if dropped:
            self._journal.dropped(self._mid, self._connection)
        else:
            self._journal.closed(self._mid, self._connection, socket.close_code)
        if parked:
            raise asyncio.CancelledError
        return not dropped

    def _pause_seconds(self, sent):
        if self._again:
            return 0 if sent < AT_ONCE else PAUSE_SECONDS[0]
        return self._dice.uniform(*PAUSE_SECONDS)

    def _next(self):
        if self._again:
            return self._again.popleft()
        if self._next_page:
            page, self._next_page = self._next_page, None
            return page
        operation = self._habits.next(self._clock + _monotonic_ms())
        while self._listing and "list" in operation:
            operation = self._habits.next(self._clock + _monotonic_ms())
        self._listing = self._listing or "list" in operation
        return operation

    async def _send(self, socket, operation):
        self._seq += 1
        self._unanswered[self._seq] = operation
        if "beats" in operation and (flag := self._some_flag()) is not None:
            operation = {"beats": {"flag": flag, **operation["beats"]}}
        text = json.dumps({"seq": self._seq, **operation}, separators=(",", ":"))
        self._journal.sent(self._mid, self._connection, text)
        await socket.send(text)

    def _some_flag(self):
        if self._dice.random() < NO_FLAG_CHANCE:
            return self._dice.choice(NO_FLAGS)
        return self._flag if self._dice.random() < FLAG_CHANCE else None

    async def _read(self, socket):
        try:
            async for text in socket:
                self._journal.got(self._mid, self._connection, text)
                self._answered(json.loads(text))
        except ConnectionClosed:
            pass

    def _answered(self, frame):
        if flag := (frame.get("ack") or frame.get("push") or {}).get("flag"):
            self._flag = flag
        if "ack" in frame:
            for rejection in frame["ack"].get("rejected", ()):
                self._forget_rejected(rejection)
            for seq in [s for s, op in self._unanswered.items() if s <= frame["ack"]["seq"] and "beats" in op]:
                del self._unanswered[seq]
        elif "result" in frame:
            operation = self._unanswered.pop(frame["result"]["seq"])
            if "list" in operation:
                self._turn_page(operation["list"]["limit"], frame["result"].get("cursor"))

    def _turn_page(self, limit, cursor):
        self._listing = bool(cursor)
        if cursor:
            self._next_page = {"list": {"limit": limit, "cursor": cursor}}

    def _forget_rejected(self, rejection):
        """A rejected beat is answered; it must not be resent with the rest of its frame."""
        operation = self._unanswered.get(rejection["seq"])
        if operation:
            operation["beats"]["items"][rejection["index"]] = None

    def _take_unanswered(self):
        """The operations to send again, in order; a caller repeats its own reads."""
        left, self._unanswered = self._unanswered, {}
        for operation in left.values():
            if "beats" in operation:
                items = [beat for beat in operation["beats"]["items"] if beat]
                if items:
                    yield {"beats": {"items": items}}
            elif not {"get", "list"} & operation.keys():
                yield operation


def _monotonic_ms():
    return int(time.monotonic() * 1000)
