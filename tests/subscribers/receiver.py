"""A receiver of webhooks, on a thread of its own, that does what it is told for each path."""

import asyncio
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from subscribers.listener import Listener

# Whether the head ends, what follows for ever, and the pause after each piece.
ENDLESS = {
    "endless": (True, b"400\r\n" + 1024 * b"x" + b"\r\n", 0),
    "drip": (True, b"1\r\nx\r\n", 0.05),
    "endless-head": (False, b"x: " + 1024 * b"x" + b"\r\n", 0),
}


@dataclass
class Request:
    path: str
    headers: dict  # by lower-case name
    body: bytes
    at: float  # time.monotonic() when it was read
    status: int = 0  # that it was answered with; 0: with none


@dataclass
class Behaviour:
    status: int = 200
    headers: dict = field(default_factory=dict)
    seconds: float = 0.0  # before the answer
    ending: str = ""  # "hang", "close", "endless", "drip" or "endless-head" instead of a body


class Receiver(Listener):
    def __init__(self, host="127.0.0.1", tls=None, port=0):
        self._host, self._tls = host, tls
        self._lock = threading.Lock()
        self._behaviours, self._requests, self._of_path = defaultdict(Behaviour), [], defaultdict(list)
        self.connections = self.open = 0  # all of them; those that neither side has closed
        super().__init__(host, port, tls)

    def url(self, path="/", host=None, scheme=None):
        scheme = scheme or ("https" if self._tls else "http")
        return f"{scheme}://{host or self._host}:{self.port}{path}"

    def behave(self, path, **behaviour):
        self._behaviours[path] = Behaviour(**behaviour)

    def requests(self, path=None):
        with self._lock:
            return list(self._requests if path is None else self._of_path.get(path, ()))

    def count(self):
        """Of all requests."""
        return len(self._requests)

    async def _serve(self, reader, writer):
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = Request(first.split(" ")[1], headers, body, time.monotonic())
                with self._lock:
                    self._requests.append(request)
                    self._of_path[request.path].append(request)
                if not await self._answer(request, writer):
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, request, writer):
        """Whether another request may come on the connection."""
        behaviour = self._behaviours[request.path]
        await asyncio.sleep(behaviour.seconds)
        if behaviour.ending == "hang":
            await asyncio.sleep(3_600)
        if behaviour.ending == "close":
            return False
        request.status = behaviour.status
        lines = [f"HTTP/1.1 {behaviour.status} -", *(f"{name}: {value}" for name, value in behaviour.headers.items())]
        if behaviour.ending in ENDLESS:
            await self._write_without_end(behaviour.ending, lines, writer)
        writer.write("\r\n".join([*lines, "content-length: 0", "", ""]).encode())
        await writer.drain()
        return True

    async def _write_without_end(self, ending, lines, writer):
        """Until the other side closes the connection."""
        head_is_over, piece, pause = ENDLESS[ending]
        first = "\r\n".join([*lines, "transfer-encoding: chunked", *([""] if head_is_over else []), ""])
        writer.write(first.encode())
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
