"""Sends steps of one user until they are answered, through whichever gateway is there."""

import asyncio
import random
import time
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from history.habits import wall_ms
from wire.client import Client
from wire.dial import GoingAway, dial
from wire.http import control
from wire.tokens import token

AWAY_SECONDS = (0.1, 0.5)  # after a broken connection
BROKEN = (OSError, WebSocketException, ConnectionClosed, GoingAway, TimeoutError)


@dataclass
class Figures:
    beats: int = 0  # that were answered
    steps: dict = field(default_factory=dict)  # the others, by name
    sockets: int = 0
    broken: int = 0  # connections, and what was answered that the store is away
    ack_seconds: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    def add(self, other):
        for name, count in other.steps.items():
            self.steps[name] = self.steps.get(name, 0) + count
        self.beats, self.sockets, self.broken = (
            self.beats + other.beats, self.sockets + other.sockets, self.broken + other.broken
        )
        self.ack_seconds += other.ack_seconds
        self.faults += other.faults
        return self


@dataclass
class Place:
    """What a viewer needs to know of a gateway."""

    ws: str
    control: str


class Viewer:
    """One user, with a socket at a time."""

    def __init__(self, user, places, figures, turn=0):
        self.user, self.figures = user, figures
        self._places, self._turn, self._client, self._device = places, turn, None, None

    async def take(self, device, step):
        """Returns when it is answered, whatever happens meanwhile."""
        while True:
            try:
                if step.name == "erase":
                    done = await self._erase(step)
                else:
                    await self._at_the_device(device)
                    done = await self._ask(step)
                if done:
                    break
            except InvalidStatus as refused:
                if refused.response.status_code != 503:
                    raise
            except BROKEN:
                pass
            self.figures.broken += 1
            await self.leave()
            self._turn += 1
            await asyncio.sleep(random.uniform(*AWAY_SECONDS))
        if step.name != "beats":
            self.figures.steps[step.name] = self.figures.steps.get(step.name, 0) + 1

    async def leave(self, politely=False):
        client, self._client = self._client, None
        if client and politely:
            await client.socket.close()
        elif client:
            client.socket.transport.abort()

    async def _at_the_device(self, device):
        if self._client and self._device == device:
            return
        await self.leave()
        place = self._places[self._turn % len(self._places)]
        self._client = Client(*await dial(place.ws, token(self.user.mid), device=device))
        self._device = device
        self.figures.sockets += 1

    async def _ask(self, step):
        """Whether it was answered with what it asked for."""
        if step.name == "beats":
            began = time.monotonic()
            rejected = await self._client.beats(*step.body["items"])
            self.figures.ack_seconds.append(time.monotonic() - began)
            self.figures.beats += len(step.body["items"])
            for index in step.accepted:
                if index in rejected:
                    text = f"user {self.user.mid}: {step.body['items'][index]} was rejected: {rejected[index]}"
                    self.figures.faults.append(("rule", text))
            return True
        await self._client.send(**{step.name: step.body})
        name, body = await self._client.frame("result", "error")
        if name == "error" and body["code"] != "unavailable":
            self.figures.faults.append(("protocol", f"user {self.user.mid}: {step} was answered {body}"))
        return name == "result"

    async def _erase(self, step):
        step.body.setdefault("began", wall_ms())
        place = self._places[self._turn % len(self._places)]
        answer = await asyncio.to_thread(control, place, "POST", "/v1/erase", {"mid": step.body["mid"]})
        if answer.status != 204:
            return False
        self.user.erased(step.body["began"], wall_ms())
        return True
