"""One server that speaks MongoDB's protocol, and is not a database: it is light, and starts in a moment."""

from pathlib import Path

from tiers.server import SERVICES, ListeningServer


class MongoServer(ListeningServer):
    def __init__(self, directory):
        super().__init__("MongoDB", Path(directory), [SERVICES / "mongo.sh", directory], "^ready ")

    @property
    def url(self):
        return f"mongodb://127.0.0.1:{self.port}"

    def servers(self):
        """By name, those that may be killed or stopped without the others."""
        return {self.name: self}
