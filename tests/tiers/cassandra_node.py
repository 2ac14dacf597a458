"""One Cassandra node."""

from pathlib import Path

from tiers.server import SERVICES, Server
from wire.patience import until

READY = "Startup complete"


class CassandraNode(Server):
    def __init__(self, directory):
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        super().__init__("Cassandra", [SERVICES / "cassandra.sh", directory], self._directory / "log")

    @property
    def port(self):
        """Known soon after it was started; it stays."""
        return int(until("the port of Cassandra", self._port))

    def _port(self):
        file = self._directory / "port"
        return file.exists() and file.read_text().strip()

    def answers(self):
        return READY in self.said()

    def wait(self):
        """Until it answers."""
        until("Cassandra", self.answers)
