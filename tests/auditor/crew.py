"""The loader processes, as the auditor commands them."""

import subprocess
import sys


class Loader:
    """A loader process and the path of its journal."""

    def __init__(self, first, users, seed, journal, *options):
        self.journal = journal
        journal.touch()
        command = [sys.executable, "-m", "auditor.loader", "--journal", str(journal), "--seed", str(seed)]
        self._process = subprocess.Popen(
            [*command, "--first", str(first), "--users", str(users), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def go(self, *urls):
        """All users play until the gateway is gone; with several gateways, until they are told to park."""
        self._say(f"go {' '.join(urls)}")

    def park(self):
        self._say("park")

    def _say(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def wait_until_parked(self):
        if self._process.stdout.readline() != "parked\n":
            raise RuntimeError(f"a loader ended with exit code {self._process.wait()}")

    def stop(self):
        self._process.kill()
        self._process.wait()
