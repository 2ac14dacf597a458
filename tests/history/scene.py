"""Redis, Kafka, Cassandra, two gateways and two jobs."""

import json

from history.table import Table
from history.topic import DEPLOYMENT, Topic
from history.viewer import Place
from tiers.cassandra_node import CassandraNode
from tiers.fleet import Fleet
from tiers.job import Job
from tiers.redis_server import SINGLE
from wire.gateway import Gateway
from wire.metrics import metrics
from wire.patience import until

INTERVAL_MS = 1_000
REGIONS = 100
KEYSPACE = "heartline"
RETENTION_DAYS = 90
HOT_IDLE_SECONDS = 3


class GatewayOnly(Gateway):
    words = ("serve", "--role", "gateway")


class Scene(Fleet):
    gateway_kind = GatewayOnly

    def __init__(self, binary, scratch, jobs=2, interval_ms=INTERVAL_MS, hot_idle=f"{HOT_IDLE_SECONDS}s", gateways=2):
        super().__init__(
            binary,
            scratch,
            SINGLE,
            gateways=gateways,
            EVENTS__DEPLOYMENT=DEPLOYMENT,
            HISTORY__STORE="cassandra",
            HISTORY__INTERVAL=f"{interval_ms}ms",
            HISTORY__HOT_IDLE=hot_idle,
            CASSANDRA__KEYSPACE=KEYSPACE,
            CASSANDRA__REPLICATION=1,
            STORE__RETENTION=f"{RETENTION_DAYS}d",
        )
        self._job_count = jobs
        self.cassandra = CassandraNode(scratch / "cassandra")
        self.jobs, self.table, self.topic = [], None, None

    def start(self):
        self.cassandra.spawn()
        self._settings["CASSANDRA__NODES"] = json.dumps([f"127.0.0.1:{self.cassandra.port}"])
        super().start()
        self.cassandra.wait()
        for number in range(self._job_count):
            self.jobs.append(self.process(Job, f"job-{number}", self.redis.url))
        for job in self.jobs:
            job.start()
        self.topic = Topic(self.kafka)
        self.table = Table(self.cassandra.port, KEYSPACE)

    @property
    def ours(self):
        return [*self.gateways, *self.jobs]

    def dependencies(self):
        return {**super().dependencies(), "Cassandra": [self.cassandra]}

    @property
    def places(self):
        return [Place(gateway.ws, gateway.control) for gateway in self.gateways]

    def wait_until_drained(self):
        """Waits until no user is listed and all published packs are written."""
        until("no user is listed any more", lambda: self.redis.listed_users() == 0, every=0.2)
        until("the jobs have no lag", lambda: self.topic.lag() == 0, every=0.1)

    def counted(self, name, processes=None):
        """A counter of all processes together that run now."""
        return sum(counter(process, name) for process in processes or self.jobs)

    def end(self):
        for job in self.jobs:
            job.kill()
        super().end()
        self.cassandra.kill()


def counter(process, name):
    """0 if the process does not have it yet."""
    lines = metrics(process).splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))
