"""Gateways without a store, the history services that commit for them, and what these stand on."""

import json
import time

from tiers.fleet import Fleet
from tiers.history_service import HistoryService
from wire.metrics import metric
from wire.patience import until
from wire.ports import KeptPort, quiet_port

ANY_PORT = "127.0.0.1:0"


class ServiceFleet(Fleet):
    """Gateways also know the address of a spare service, which is not there until `grow`."""

    service_kind = HistoryService

    def __init__(self, binary, scratch, redis_kind, services=2, **settings):
        super().__init__(binary, scratch, redis_kind, **settings)
        self._service_count = services
        self.services, self.spare, self._port = [], None, KeptPort()

    def start(self):
        self.start_servers()
        self.services = [self._service(n, quiet_port()) for n in range(self._service_count)]
        self.spare = self._service("spare", self._port.number, SERVER__LISTEN=ANY_PORT, ADMIN__LISTEN=ANY_PORT)
        addresses = [service.address for service in (*self.services, self.spare)]
        for n in range(self._count):
            self.gateways.append(self._gateway_of(n, addresses))
        self.start_processes()

    def _service(self, number, port, **settings):
        settings["GRPC__LISTEN"] = f"127.0.0.1:{port}"
        return self.process(self.service_kind, f"service-{number}", self.redis.url, **settings)

    def _gateway_of(self, number, addresses):
        """It is told of no store, no bus and no rule."""
        own = {name: value for name, value in self._settings.items() if name.startswith("STORE__")}
        services = {"STORE__HOT_STORE": "history-service", "HISTORY_SERVICE__ADDRESSES": json.dumps(addresses)}
        return self.bare_process(self.gateway_kind, f"gateway-{number}", **own, **services)

    @property
    def committers(self):
        return self.services

    @property
    def processes(self):
        return [*self.services, *self.gateways]

    def dependencies(self):
        services = {f"service {n}": [service] for n, service in enumerate(self.services)}
        return {**super().dependencies(), **services}

    def wait_until_ready(self):
        """And until each gateway uses all services that run."""
        began = time.monotonic()
        super().wait_until_ready()
        self.wait_until_used(len(self.services))
        return time.monotonic() - began

    def wait_until_used(self, count):
        def used():
            return all(metric(gateway, "heartline_history_services") == count for gateway in self.gateways)

        until(f"gateways use {count} services", used)

    def grow(self):
        """The spare service is one of them."""
        self._port.give()
        self.spare.start()
        self.services.append(self.spare)
        self.wait_until_ready()

    def end(self):
        if self.spare:
            self.spare.kill()
        self._port.give()
        super().end()
