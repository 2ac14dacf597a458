"""A real database behind MongoDB's protocol: FerretDB, which keeps all in a PostgreSQL of its own."""

import os
import signal
from pathlib import Path

from tiers.server import SERVICES, ListeningServer


class Postgres(ListeningServer):
    def __init__(self, directory):
        command = [SERVICES / "postgres.sh", directory]
        super().__init__("PostgreSQL", directory, command, "ready to accept connections$")

    def pause(self):
        """All of its processes: each serves a connection."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for process in [self.pid, *map(int, children)]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass  # its connection has ended


class Ferret(ListeningServer):
    def __init__(self, directory, postgres):
        self._postgres = postgres
        super().__init__("FerretDB", directory, [SERVICES / "ferret.sh", directory], "^ready ")

    def spawn(self):
        self._command[2:] = [str(self._postgres.port)]
        return super().spawn()


class FerretDb:
    """Both, as one store."""

    def __init__(self, directory):
        self._postgres = Postgres(Path(directory) / "postgres")
        self._ferret = Ferret(Path(directory) / "ferret", self._postgres)

    @property
    def url(self):
        return f"mongodb://127.0.0.1:{self._ferret.port}/?directConnection=true"

    def servers(self):
        """By name, those that may be killed or stopped without the other."""
        return {server.name: server for server in (self._postgres, self._ferret)}

    def start(self):
        for server in (self._postgres, self._ferret):
            server.start()

    def kill(self):
        for server in (self._ferret, self._postgres):
            server.kill()
