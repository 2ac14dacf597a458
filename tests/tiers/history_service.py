"""A process that commits for gateways without a store."""

from wire.gateway import Gateway


class HistoryService(Gateway):
    @property
    def address(self):
        """Where gateways find it; it stays."""
        return f"http://{self.settings['GRPC__LISTEN']}"
