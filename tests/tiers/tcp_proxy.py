"""A proxy that cuts connections after a request has arrived and before its answer is passed on."""

import asyncio
import random
import threading

CHUNK = 65_536


class TcpProxy:
    """In a thread of its own. `chance`: of cutting a connection, at each piece of a request that comes."""

    def __init__(self, target_port, seed=None):
        self._target = target_port
        self._dice = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self.chance = 0.0
        self.cuts = 0

    def start(self):
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), daemon=True)
        self._thread.start()
        listening.wait()
        return self

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, listening):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, client_reads, client):
        try:
            server_reads, server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            client.transport.abort()
            return
        cutting = asyncio.Event()
        ways = [
            asyncio.ensure_future(self._requests(client_reads, server, cutting)),
            asyncio.ensure_future(self._answers(server_reads, client, cutting)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            client.transport.abort()
            server.transport.abort()

    async def _requests(self, reads, server, cutting):
        while data := await _read(reads):
            if self._dice.random() < self.chance:
                cutting.set()
            server.write(data)
            await server.drain()

    async def _answers(self, reads, client, cutting):
        while data := await _read(reads):
            # It has been carried out, and nobody is told.
            if cutting.is_set():
                self.cuts += 1
                return
            client.write(data)
            await client.drain()


async def _read(reads):
    try:
        return await reads.read(CHUNK)
    except OSError:
        return b""
