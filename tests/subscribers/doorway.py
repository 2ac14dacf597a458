"""A doorway before a receiver: the first connections go through, the later ones are taken and get no byte."""

import asyncio

from subscribers.listener import Listener


class Doorway(Listener):
    def __init__(self, receiver=None, lets_pass=0):
        self._receiver, self._lets_pass = receiver, lets_pass
        self.stopped = self.open = 0  # connections that got no byte; those of them that the other side has not closed
        super().__init__()

    async def _serve(self, reader, writer):
        try:
            if self._lets_pass > 0:
                self._lets_pass -= 1
                inner, outer = await asyncio.open_connection("127.0.0.1", self._receiver.port)
                await asyncio.gather(carry(reader, outer), carry(inner, writer))
            else:
                await self._stop(reader)
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _stop(self, reader):
        self.stopped += 1
        self.open += 1
        try:
            while await reader.read(4_096):
                pass
        finally:
            self.open -= 1


async def carry(reader, writer):
    try:
        while piece := await reader.read(4_096):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
