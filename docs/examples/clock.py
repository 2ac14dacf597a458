"""The server's time, and how many frames may be sent."""

import asyncio
import time


class Clock:
    """The server's clock: the newest `now` that it sent, plus the time since."""

    def __init__(self):
        # CLOCK_BOOTTIME goes on while the device sleeps, which the monotonic clock of Linux does not.
        self._clock = getattr(time, "CLOCK_BOOTTIME", None)
        self._began = time.time() * 1000 - self._steady()
        self.offset = None

    def _steady(self):
        return (time.monotonic() if self._clock is None else time.clock_gettime(self._clock)) * 1000

    def local(self):
        """Milliseconds that begin at the wall clock's reading and never go back."""
        return self._began + self._steady()

    def rebase(self, now):
        self.offset = now - self.local()

    @property
    def known(self):
        return self.offset is not None

    def now(self):
        return int(self.local() + self.offset)

    def at(self, made):
        """The server's time at a local time, which is past."""
        return min(self.now(), int(made + self.offset))


class Allowance:
    """A bucket of half the burst that is allowed: the other half is for frames that the network holds up."""

    def __init__(self, limits):
        self._per_second, self._size = limits["frames_per_second"], max(1, limits["burst"] / 2)
        self._level, self._filled = self._size, time.monotonic()

    async def take(self):
        while True:
            now = time.monotonic()
            self._level = min(self._size, self._level + (now - self._filled) * self._per_second)
            self._filled = now
            if self._level >= 1:
                self._level -= 1
                return
            await asyncio.sleep((1 - self._level) / self._per_second)
