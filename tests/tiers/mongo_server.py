"""One server that speaks MongoDB's protocol."""

from pathlib import Path

from tiers.server import SERVICES, Server
from wire.patience import until


class MongoServer(Server):
    def __init__(self, directory):
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        super().__init__("MongoDB", [SERVICES / "mongo.sh", directory], self._directory / "log")

    @property
    def url(self):
        """Known soon after it was started; it stays."""
        return f"mongodb://127.0.0.1:{until('the port of MongoDB', self._port)}"

    def _port(self):
        file = self._directory / "port"
        return file.exists() and file.read_text().strip()

    def answers(self):
        return any(line.startswith("ready ") for line in self.said().splitlines())
