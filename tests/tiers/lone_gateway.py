"""A gateway with its own store: what a fleet is on Redis."""

from wire.gateway import Gateway
from wire.http import call
from wire.patience import until


class LoneGateway:
    def __init__(self, binary, scratch, **settings):
        self._gateway = Gateway(binary, scratch / "data", scratch / "log", **settings)
        self.gateways = [self._gateway]

    def start(self):
        self._gateway.start()

    def victims(self):
        """By name, what may be killed together."""
        return {"gateway": [self._gateway]}

    def dependencies(self):
        """It depends on nothing that could be stopped."""
        return {}

    def wait_until_ready(self):
        """A gateway that has started is ready."""
        until("the gateway is ready", lambda: call(self._gateway.admin, "GET", "/readyz").status == 200)
        return 0.0

    def end(self):
        self._gateway.kill()
