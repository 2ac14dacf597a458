"""Nothing stays stopped, and all have their turn."""

import random
import subprocess
import time
import unittest
from argparse import Namespace
from pathlib import Path

from tiers.freezes import WAYS, Freezes
from tiers.server import Server
from wire.patience import came

SECONDS_MAX = 0.2


class Sleeper(Server):
    def __init__(self):
        self._child = subprocess.Popen(["sleep", "600"])
        super().__init__("a sleeper", [], "", self._child.pid)

    def is_stopped(self):
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def end(self):
        self._child.kill()
        self._child.wait()


class Process:
    """One of ours."""

    name = "ours"

    def __init__(self, servers):
        self._servers, self.states = servers, []

    def kill(self):
        self.states.append(any(server.is_stopped() for server in self._servers))

    def start(self):
        self.states.append(any(server.is_stopped() for server in self._servers))


class Site:
    def __init__(self):
        self.servers = [Sleeper(), Sleeper()]
        self.ours = [Process(self.servers)]

    def dependencies(self):
        return {"one": self.servers[:1], "both": self.servers}


class TestFreezes(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        for server in self.site.servers:
            self.addCleanup(server.end)
        args = Namespace(frozen=1, frozen_seconds=SECONDS_MAX)
        self.freezes = Freezes(args, random.Random(1), self.site)

    def any_is_stopped(self):
        return any(server.is_stopped() for server in self.site.servers)

    def test_all_are_stopped_in_their_turn_and_go_on(self):
        for _ in range(2 * 2 * len(WAYS)):
            seen = []
            began = time.monotonic()
            freeze = self.freezes.freeze_next(lambda name: seen.append(came(self.any_is_stopped, 5)))
            self.assertGreaterEqual(time.monotonic() - began, SECONDS_MAX)
            self.assertEqual((seen, self.any_is_stopped()), ([True], False), freeze)
        self.assertEqual(dict(self.freezes.count), {f"{name} {way}": 2 for name in ("one", "both") for way in WAYS})

    def test_a_process_is_started_when_nothing_is_stopped_any_more(self):
        process = self.site.ours[0]
        while len(process.states) < 8:
            self.freezes.freeze_next()
        self.assertIn(True, process.states[::2])
        self.assertNotIn(True, process.states[1::2])

    def test_all_go_on_after_an_error(self):
        for _ in range(2 * len(WAYS)):
            with self.assertRaises(ZeroDivisionError):
                self.freezes.freeze_next(lambda _: came(self.any_is_stopped, 5) / 0)
            self.assertFalse(self.any_is_stopped())


if __name__ == "__main__":
    unittest.main()
