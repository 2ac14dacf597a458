"""One server process that is killed and comes back on its port and data."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from wire.patience import PATIENCE_SECONDS, until

SERVICES = Path(__file__).parents[1] / "services"
START_SECONDS_MAX = 2 * PATIENCE_SECONDS  # a broker takes a while on a quiet machine, too


class Server:
    """`command` starts it in the foreground. `pid`: of one that is running already."""

    def __init__(self, name, command, log, pid=None):
        self.name = name
        self._command, self._log, self.pid = [str(word) for word in command], log, pid
        self._process = None

    def spawn(self):
        """Starts it, and does not wait for it."""
        with open(self._log, "ab") as log:
            self.log_from = log.tell()
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self._process.pid
        return self

    def start(self):
        """Starts it, and waits until it answers."""
        self.spawn()
        give_up = time.monotonic() + START_SECONDS_MAX
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"{self.name} does not start: {self.said()}")
            time.sleep(0.02)
        return self

    def answers(self):
        raise NotImplementedError

    def said(self):
        """What the present process has written so far."""
        with open(self._log, errors="replace") as log:
            log.seek(self.log_from)
            return log.read()

    def kill(self):
        """SIGKILL; it is gone when this returns."""
        self._end(signal.SIGKILL)

    def stop(self):
        """SIGTERM."""
        self._end(signal.SIGTERM)

    def pause(self):
        """SIGSTOP: connections stay, without answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, how):
        if self.pid is None:
            return
        os.kill(self.pid, how)
        if self._process:
            self._process.wait()
        else:  # the child of its start script, which reaps it
            while Path(f"/proc/{self.pid}").exists():
                time.sleep(0.002)
        self.pid = self._process = None


class ListeningServer(Server):
    """One that keeps its log and its port in its directory, and says when it listens. `ready`: a pattern of that line."""

    def __init__(self, name, directory, command, ready):
        directory.mkdir(parents=True, exist_ok=True)
        self._ready, self._port_file = re.compile(ready, re.M), directory / "port"
        super().__init__(name, command, directory / "log")

    @property
    def port(self):
        """Known soon after it was started; it stays."""
        return int(until(f"the port of {self.name}", self._port))

    def _port(self):
        return self._port_file.exists() and self._port_file.read_text().strip()

    def answers(self):
        return self._ready.search(self.said()) is not None
