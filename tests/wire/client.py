"""A small honest client: one socket, its `seq`, and the frames that came, each taken by name."""

import asyncio
import json
import time

from wire.dial import dial
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token


class Client:
    def __init__(self, socket, welcome, seq):
        self.socket, self.welcome, self.seq = socket, welcome, seq
        self._clock = welcome["now"] - _monotonic_ms()
        self._came = []

    @classmethod
    async def open(cls, gateway, mid, place="header", device=""):
        return cls(*await dial(gateway.ws, token(mid), place, device))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.socket.close()

    def now(self):
        """The server's clock, as the welcome told it."""
        return self._clock + _monotonic_ms()

    async def send(self, **operation):
        self.seq += 1
        await self.socket.send(json.dumps({"seq": self.seq, **operation}))
        return self.seq

    async def frame(self, *names):
        """The oldest frame of one of these names that was not taken yet, as (name, body)."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for frame in self._came:
                    if name := next((n for n in names if n in frame), None):
                        self._came.remove(frame)
                        return name, frame[name]
                self._came.append(json.loads(await self.socket.recv()))

    def untaken(self, name):
        """The bodies of all frames of this name that came and were not taken."""
        return [frame[name] for frame in self._came if name in frame]

    async def ask(self, **operation):
        """The result of one operation; an error is a failure."""
        seq = await self.send(**operation)
        name, body = await self.frame("result", "error")
        if name == "error" or body["seq"] != seq:
            raise AssertionError(f"{operation} was answered {name} {body}")
        return body

    async def refused(self, **operation):
        """The error that answers one operation."""
        seq = await self.send(**operation)
        name, body = await self.frame("result", "error")
        if name == "result" or body["seq"] != seq:
            raise AssertionError(f"{operation} was answered {name} {body}")
        return body

    async def beats(self, *items):
        """Sends one frame of beats and waits for its ack; the rejections, by index."""
        seq = await self.send(beats={"items": list(items)})
        rejected = []
        while True:
            _, ack = await self.frame("ack")
            rejected += ack.get("rejected", ())
            if ack["seq"] >= seq:
                return {r["index"]: r for r in rejected if r["seq"] == seq}

    async def get(self, *oids, kind=1):
        return (await self.ask(get={"items": [item(oid, kind) for oid in oids]}))["records"]

    async def list(self, **asked):
        """All pages from here on."""
        records = []
        while True:
            page = await self.ask(list=asked)
            records += page["records"]
            if "cursor" not in page:
                return records
            asked = {**asked, "cursor": page["cursor"]}

    async def closed(self):
        """Waits for the end of the connection; its close code."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.socket.wait_closed()
        return self.socket.close_code


def item(oid, kind=1):
    return {"kind": kind, "oid": str(oid)}


def beat(oid, at, **changes):
    """A plain beat of a playing video; `session` should be named where it matters."""
    plain = {"pos": 73_200, "dur": 300_000, "state": "playing", "session": "8311207", "watched": 5_000, "rate": 1.0}
    return {**item(oid), **plain, "at": at, **changes}


def _monotonic_ms():
    return int(time.monotonic() * 1000)
