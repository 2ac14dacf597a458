"""One Kafka broker."""

from pathlib import Path

from tiers.server import SERVICES, Server
from wire.patience import until

READY = "Kafka Server started"


class KafkaBroker(Server):
    def __init__(self, directory):
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        super().__init__("Kafka", [SERVICES / "kafka.sh", directory], self._directory / "log")

    @property
    def data(self):
        """Where its topics are."""
        return self._directory / "data"

    @property
    def address(self):
        """Known once it was started; it stays."""
        return f"127.0.0.1:{int((self._directory / 'port').read_text())}"

    @property
    def login_address(self):
        """Where it asks for a login."""
        return f"127.0.0.1:{int((self._directory / 'port').read_text()) + 2}"

    def answers(self):
        return READY in self.said()

    def wait(self):
        """Until it answers."""
        until("Kafka", self.answers)
