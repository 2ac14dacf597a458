"""What stands still or is slow for a while: SIGSTOP, and SIGCONT after it."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass

from wire.gateway import StartFailed
from wire.patience import PATIENCE_SECONDS

FROZEN_SECONDS = (5.0, 20.0)
# One that is slow is stopped again and again, for less and for more than the time limits of its clients.
STOPPED_SECONDS, RUNNING_SECONDS = (0.2, 5.0), (0.02, 0.5)
WAYS = ("frozen", "slow")
# A process of ours is killed at the end: what it had sent is still carried out, after it was killed.
KILL_CHANCE = 0.3
# How a process ends that finds no store, or one that is not ready yet.
ENDS_WITHOUT_ITS_STORE = (69, 73)


def add_frozen_options(parser):
    text = "rounds after those with kills, in which what others depend on is stopped for a while"
    parser.add_argument("--frozen", type=int, default=0, help=text)
    longest = "seconds that it is stopped at most, in such a round"
    parser.add_argument("--frozen-seconds", type=float, default=FROZEN_SECONDS[1], help=longest)


@dataclass
class Freeze:
    """One that is over."""

    name: str
    way: str
    seconds: float
    killed: str | None  # the process of ours that was killed meanwhile

    def __str__(self):
        return f"{self.name} {self.way} for {self.seconds:.1f} s{f', {self.killed} killed meanwhile' if self.killed else ''}"


class Freezes:
    """`site.dependencies()`: by name, those that are stopped together. All have their turn in a random order, and then
    again. `site.ours`: the processes that depend on them, of which one may be killed meanwhile."""

    def __init__(self, args, dice, site):
        self._dice, self._site, self._servers = dice, site, site.dependencies()
        if not self._servers:
            raise SystemExit("--frozen: nothing is there that could be stopped")
        self._seconds = min(FROZEN_SECONDS[0], args.frozen_seconds), args.frozen_seconds
        self._next = []
        self.count = Counter()  # by what and how

    def freeze_next(self, meanwhile=lambda name: None):
        """Returns when all of them go on. `meanwhile(name)` is done while they are stopped, or slow."""
        if not self._next:
            turns = [(name, way) for name in self._servers for way in WAYS]
            self._next = self._dice.sample(turns, len(turns))
        name, way = self._next.pop()
        others = [process for process in self._site.ours if process not in self._servers[name]]
        killed = self._dice.choice(others) if self._dice.random() < KILL_CHANCE else None
        self.count[f"{name} {way}"] += 1
        began = time.monotonic()
        with _Stopped(self._servers[name], way, self._dice.uniform(*self._seconds), self._dice.random()) as stopped:
            meanwhile(name)
            stopped.wait()
            if killed:
                killed.kill()
        seconds = time.monotonic() - began
        if killed:
            _start_again(killed)
        return Freeze(name, way, seconds, killed and killed.name)


def _start_again(process):
    """As a supervisor does: after a freeze its store may need a moment, and a process that cannot open it ends."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return process.start()
        except StartFailed as failed:
            if failed.code not in ENDS_WITHOUT_ITS_STORE or time.monotonic() > give_up:
                raise


class _Stopped(threading.Thread):
    """Stops servers, and lets them go on when it ends, whatever happens."""

    def __init__(self, servers, way, seconds, seed):
        super().__init__(daemon=True)
        self._servers, self._way, self._dice = servers, way, random.Random(seed)
        self._over, self._ends = threading.Event(), time.monotonic() + seconds
        self._failure = None

    def wait(self):
        """Until its time is over."""
        self._over.wait(max(0, self._ends - time.monotonic()))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()
        if self._failure:
            raise self._failure

    def run(self):
        try:
            while not self._over.is_set():
                self._all("pause")
                self._over.wait(self._dice.uniform(*STOPPED_SECONDS) if self._way == "slow" else None)
                self._all("resume")
                self._over.wait(self._dice.uniform(*RUNNING_SECONDS))
        except Exception as failure:
            self._failure = failure
            self._all("resume")

    def _all(self, what):
        for server in self._servers:
            getattr(server, what)()
