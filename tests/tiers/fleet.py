"""Two gateways on one Redis: what users see as one, and each part of which may be killed.

Events go to one Kafka, or stay with the gateway that has them."""

import random
import time

from tiers.kafka_broker import KafkaBroker
from tiers.redis_server import Redis
from tiers.server import START_SECONDS_MAX
from wire.gateway import Gateway
from wire.http import call
from wire.patience import PATIENCE_SECONDS
from wire.ports import quiet_port

READY_SECONDS_MAX = START_SECONDS_MAX


class Fleet:
    """Nothing of it runs before `start`."""

    gateway_kind = Gateway

    def __init__(self, binary, scratch, redis_kind, gateways=2, bus="kafka", **settings):
        self._binary, self._scratch, self._settings = binary, scratch, settings
        self._count = gateways
        self.redis = Redis(redis_kind, scratch / "redis")
        self.kafka = KafkaBroker(scratch / "kafka") if bus == "kafka" else None
        self.gateways = []

    def start(self, redis_url=None):
        self.start_servers()
        for n in range(self._count):
            self.gateways.append(self._gateway(n, redis_url or self.redis.url))
        self.start_processes()

    def start_servers(self):
        self.redis.start()
        if self.kafka:
            self.kafka.start()

    def start_processes(self):
        self.committers[0].run("init")
        for process in self.processes:
            process.start()
        self.wait_until_ready()

    def _gateway(self, number, redis_url):
        return self.process(self.gateway_kind, f"gateway-{number}", redis_url)

    def process(self, kind, name, redis_url, **settings):
        """One more process with the settings of the fleet."""
        store = {"STORE__HOT_STORE": "redis", "REDIS__URL": redis_url}
        return self.bare_process(kind, name, **{**store, **self._events(), **self._settings, **settings})

    def bare_process(self, kind, name, **settings):
        """One with these settings alone."""
        return kind(
            self._binary,
            self._scratch / name,
            self._scratch / f"{name}.log",
            **{
                "SERVER__LISTEN": f"127.0.0.1:{quiet_port()}",
                "ADMIN__LISTEN": f"127.0.0.1:{quiet_port()}",
                # Ready is when all users are served.
                "STORE__READY_SHARE": 1.0,
                # On a busy machine a client may be slow to send its request.
                "SERVER__HANDSHAKE_TIMEOUT": f"{PATIENCE_SECONDS}s",
                **settings,
            },
        )

    def _events(self):
        if not self.kafka:
            return {"EVENTS__EVENT_BUS": "embedded"}
        return {
            "EVENTS__EVENT_BUS": "kafka",
            "KAFKA__BROKERS": f'["{self.kafka.address}"]',
            # There is one broker.
            "KAFKA__REPLICATION": 1,
            "KAFKA__MIN_IN_SYNC": 1,
        }

    @property
    def committers(self):
        """Those that commit, and publish events."""
        return self.gateways

    @property
    def processes(self):
        """All that is ours, in the order in which it is started."""
        return self.gateways

    @property
    def ours(self):
        """All that is ours, and may be killed while what it depends on is stopped."""
        return self.processes

    def dependencies(self):
        """By name, what may be stopped together."""
        kafka = {"Kafka": [self.kafka]} if self.kafka else {}
        return {"Redis": self.redis.nodes, **kafka}

    @property
    def urls(self):
        return [gateway.ws for gateway in self.gateways]

    # What is asked of a gateway may be asked of any of them.

    @property
    def http(self):
        return random.choice(self.gateways).http

    @property
    def admin(self):
        return random.choice(self.gateways).admin

    @property
    def control(self):
        return random.choice(self.gateways).control

    def wait_until_ready(self):
        """Until Redis is whole and all processes are ready again by themselves; how long it took."""
        began = time.monotonic()
        self.redis.wait_until_whole()
        while not all(_is_ready(process) for process in self.processes):
            if time.monotonic() - began > READY_SECONDS_MAX:
                raise NotReady([process.stderr()[-2_000:] for process in self.processes])
            time.sleep(0.02)
        return time.monotonic() - began

    def end(self):
        """SIGKILL for everything that still runs."""
        for process in self.processes:
            process.kill()
        if self.kafka:
            self.kafka.kill()
        self.redis.stop()


class NotReady(Exception):
    """A process did not come back by itself; carries what all said last."""


def _is_ready(process):
    try:
        return call(process.admin, "GET", "/readyz").status == 200
    except OSError:
        return False
