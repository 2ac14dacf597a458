"""The client of this folder at `heartline conformance`: python conformance.py http://127.0.0.1:7799 [WORKERS]

A harness asks for the next instruction, does it, and asks again. So does each worker, side by side with the others.
"""

import asyncio
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

from client import Client

TICK_SECONDS = 0.1


def fetch(url):
    return asyncio.to_thread(lambda: json.load(urlopen(url, timeout=60)))


class Player:
    """Plays in real time, and tells its playback what happens."""

    def __init__(self, dur):
        self.pos, self.dur, self.playing, self.playback = 0, dur, False, None
        self._ticked = time.monotonic()

    async def run(self):
        while True:
            await asyncio.sleep(TICK_SECONDS)
            passed, self._ticked = (time.monotonic() - self._ticked) * 1000, time.monotonic()
            if not self.playing:
                continue
            self.pos = min(self.dur, self.pos + passed)
            self.playback.tick()
            if self.pos == self.dur:
                self.playing = False
                self.playback.ended()

    def go(self, pos):
        """Where the client wants it to be."""
        self.pos = pos

    def play(self):
        self.pos = 0 if self.pos == self.dur else self.pos
        self.playing = True
        self.playback.started()

    def pause(self):
        self.playing = False
        self.playback.paused()

    def seek(self, pos):
        self.pos = pos
        self.playback.seeked()


class Device:
    """What carries out the instructions of one scenario."""

    def __init__(self, start, make):
        self._start, self._make = start, make
        self._storage = tempfile.TemporaryDirectory()
        self._begin()

    def _begin(self):
        url, user = self._start["url"], self._start["user"]

        async def get_token(refused):
            return (await fetch(f"{url}/conformance/token?user={user}"))["token"]

        self._client = self._make(url, user, get_token, self._storage.name)
        self._client.spawn(self._client.run())
        self._player = self._content = self._playback = None

    def play(self, kind, oid, dur):
        if (str(kind), oid) != self._content:
            if self._playback:
                self._playback.stop()
            self._content, self._player = (str(kind), oid), Player(dur)
            self._playback = self._player.playback = self._client.resume(self._player, self._content)
            self._client.spawn(self._player.run())
        self._player.play()

    def pause(self):
        self._player.pause()

    def seek(self, pos):
        self._player.seek(pos)

    async def advertise(self, ms):
        """It plays in the same player, which then goes on where it was."""
        pos = self._player.pos
        self._playback.suspend()
        self._player.pos = 0
        await asyncio.sleep(ms / 1000)
        self._player.pos = pos
        self._playback.go_on()

    async def hide(self):
        await self._client.hide()

    async def delete(self, kind, oid):
        await self._client.get([(str(kind), oid)])  # as a page that shows it
        await self._client.delete([(str(kind), oid)])

    async def clear(self):
        await self._client.list()
        await self._client.clear()

    def reload(self):
        """The process ends without a word, and another one begins with the same storage."""
        self._client.abort()
        self._begin()

    def stop(self):
        self._client.abort()
        self._storage.cleanup()


async def work(kit, worker, make):
    device = None
    while True:
        instruction = await fetch(f"{kit}/conformance/next?worker={worker}")
        what = instruction.pop("do")
        if what == "done":
            return
        if what == "start":
            device = Device(instruction, make)
            continue
        done = getattr(device, what)(**instruction)
        if done:
            await done


async def main(kit, workers=1, make=Client):
    # Each worker waits in a thread for what comes next; its client needs some, too.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(8 + 4 * workers))
    await asyncio.gather(*(work(kit, worker, make) for worker in range(workers)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))
