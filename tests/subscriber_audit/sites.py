"""What subscribers are audited on."""

import re

from tiers.fleet import Fleet
from tiers.lone_gateway import LoneGateway
from tiers.redis_server import SINGLE
from wire.gateway import Gateway
from wire.http import call, control
from wire.patience import until

SETTINGS = {
    "REWARDS__RULES": '[{ id = "first-view", per = "content", watched = "0s", exact = true }]',
    "SUBSCRIBERS__ALLOW_HTTP": "true",
    "SUBSCRIBERS__ALLOW_NETWORKS": '["127.0.0.1/32"]',
    "SUBSCRIBERS__TIMEOUT": "2s",
    "SUBSCRIBERS__RETRIES": '["200ms", "500ms"]',
    "LIMITS__FRAMES_PER_SECOND": 100_000,
    "LIMITS__BURST": 100_000,
}


class CascadeProcess(Gateway):
    words = ("serve", "--role", "cascade")
    ready_line = re.compile(rb"^heartline cascade is running \(admin (http://\S+)\)\n", re.M)

    def is_at(self, admin):
        self.admin = admin


class SocketGateway(Gateway):
    words = ("serve", "--role", "gateway")


class Embedded(LoneGateway):
    """One gateway, which does everything."""

    def __init__(self, binary, scratch):
        super().__init__(binary, scratch, **SETTINGS)

    @property
    def workers(self):
        """The processes that deliver."""
        return self.gateways


class OnRedis(Fleet):
    """A gateway and cascades, on one Redis and one Kafka."""

    gateway_kind = SocketGateway

    def __init__(self, binary, scratch, cascades=2, **settings):
        super().__init__(binary, scratch, SINGLE, gateways=1, **{**SETTINGS, **settings})
        self._cascades, self.workers = cascades, []

    def start(self):
        super().start()
        self.workers += [self.process(CascadeProcess, f"cascade-{n}", self.redis.url) for n in range(self._cascades)]
        for cascade in self.workers:
            cascade.start()
        # The gateway runs no cascade itself.
        is_away = lambda: control(self.gateways[0], "GET", "/v1/subscribers").json()["cascade"]["away"]
        until("the gateway knows of a cascade", lambda: not is_away())

    def victims(self):
        return {
            "cascade 0": [self.workers[0]],
            "cascade 1": [self.workers[1]],
            "both cascades": self.workers,
            "Redis": self.redis.nodes,
            "Kafka": [self.kafka],
        }

    @property
    def ours(self):
        return self.workers

    def wait_until_ready(self):
        took = super().wait_until_ready()
        for cascade in self.workers:
            until("a cascade is ready", lambda: call(cascade.admin, "GET", "/readyz").status == 200)
        return took

    def end(self):
        for cascade in self.workers:
            cascade.kill()
        super().end()


SITES = {"embedded": Embedded, "redis": OnRedis}
