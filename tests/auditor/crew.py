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

    def go(self, url):
        self._process.stdin.write(f"go {url}\n")
        self._process.stdin.flush()

    def wait_until_parked(self):
        if self._process.stdout.readline() != "parked\n":
            raise RuntimeError(f"a loader ended with exit code {self._process.wait()}")

    def stop(self):
        self._process.kill()
        self._process.wait()
