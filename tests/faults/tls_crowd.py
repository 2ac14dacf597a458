"""`python -m faults.tls_crowd`: a process of TLS sockets that beat until they are told to end, and how it is commanded.

Says `connected` once all are; ends when its standard input does and every socket has had an ack after that, and then
says in a line of JSON how it went.
"""

import argparse
import asyncio
import json
import random
import resource
import ssl
import subprocess
import sys
import time
from collections import Counter

from websockets.exceptions import ConnectionClosed

from wire.client import beat
from wire.dial import dial
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

CONNECTING_AT_ONCE = 50
INTERVAL_SECONDS = 2.0


class TlsCrowd:
    """The process of the crowd, as seen by its parent."""

    def __init__(self, gateway, first, sockets):
        command = [sys.executable, "-m", "faults.tls_crowd", "--url", gateway.ws, "--first", str(first)]
        self._process = subprocess.Popen(
            [*command, "--sockets", str(sockets)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_connected(self):
        if self._process.stdout.readline() != "connected\n":
            raise RuntimeError(f"a crowd of TLS sockets ended with exit code {self._process.wait()}")

    def end(self):
        text, _ = self._process.communicate(timeout=2 * PATIENCE_SECONDS)
        return json.loads(text)

    def kill(self):
        self._process.kill()
        self._process.communicate()


def context():
    """Accepts any certificate: a separate check looks at the certificate shown."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return trusting


class Member:
    def __init__(self, socket, welcome, seq):
        self._socket, self._at, self._seq = socket, welcome["now"], seq
        self.acked, self.lost, self.went_on = 0, None, False

    async def live(self):
        await asyncio.sleep(random.uniform(0, INTERVAL_SECONDS))
        try:
            while True:
                await self._beat()
                await asyncio.sleep(INTERVAL_SECONDS)
        except ConnectionClosed as closed:
            self.lost = closed.rcvd.code if closed.rcvd else 1006

    async def _beat(self):
        self._seq, self._at = self._seq + 1, self._at + 1
        await self._socket.send(json.dumps({"seq": self._seq, "beats": {"items": [beat(1, self._at)]}}))
        while json.loads(await self._socket.recv()).get("ack", {}).get("seq") != self._seq:
            pass
        self.acked += 1


async def everybody_goes_on(members):
    """Until each has had another ack, or is lost; one that is neither has no more acks than before."""
    before = [member.acked for member in members]
    give_up = time.monotonic() + PATIENCE_SECONDS
    while any(member.acked == acked and member.lost is None for member, acked in zip(members, before, strict=True)):
        if time.monotonic() > give_up:
            break
        await asyncio.sleep(0.05)
    for member, acked in zip(members, before, strict=True):
        member.went_on = member.acked > acked


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--sockets", type=int, required=True)
    args = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gate, trusting = asyncio.Semaphore(CONNECTING_AT_ONCE), context()

    async def connected(mid):
        async with gate:
            return Member(*await dial(args.url, token(mid), ssl=trusting))

    members = await asyncio.gather(*(connected(mid) for mid in range(args.first, args.first + args.sockets)))
    lives = [asyncio.create_task(member.live()) for member in members]
    print("connected", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await everybody_goes_on(members)
    for life in lives:
        life.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    acked = [member.acked for member in members]
    lost = Counter(str(member.lost) for member in members if member.lost is not None)
    went_on = sum(member.went_on for member in members)
    print(json.dumps({"sockets": len(members), "acked": sum(acked), "went_on": went_on, "lost": lost}))
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
