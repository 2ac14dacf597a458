"""A proxy that cuts connections after a request has arrived and before its answer is passed on.

It is a process of its own, so that a busy test does not delay the traffic.
"""

import asyncio
import random
import subprocess
import sys

CHUNK = 65_536


class TcpProxy:
    """The process, as an audit commands it."""

    def __init__(self, target_port, seed):
        self._command = [sys.executable, "-m", "tiers.tcp_proxy", str(target_port), str(seed)]

    def start(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        return self

    def cut(self, chance):
        """From now on a connection is cut with this chance at each piece of a request; how many were cut before."""
        self._process.stdin.write(f"{chance}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self):
        self._process.kill()
        self._process.communicate()


class _Proxy:
    def __init__(self, target_port, seed):
        self._target = target_port
        self._dice = random.Random(seed)
        self._chance = 0.0
        self._cuts = 0

    async def run(self):
        """Until its input ends."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            self._chance = float(line)
            print(self._cuts, flush=True)

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
            if self._dice.random() < self._chance:
                cutting.set()
            server.write(data)
            await server.drain()

    async def _answers(self, reads, client, cutting):
        while data := await _read(reads):
            # The request has been carried out, and its answer is lost.
            if cutting.is_set():
                self._cuts += 1
                return
            client.write(data)
            await client.drain()


async def _read(reads):
    try:
        return await reads.read(CHUNK)
    except OSError:
        return b""


if __name__ == "__main__":
    asyncio.run(_Proxy(int(sys.argv[1]), int(sys.argv[2])).run())
