"""Two gateways that count in one Redis and carry the sums to one statistics store."""

from tiers.ferret_server import FerretDb
from tiers.fleet import Fleet
from tiers.mongo_server import MongoServer
from tiers.redis_server import SINGLE

STATISTICS = {"mongodb": MongoServer, "ferretdb": FerretDb}


class CountingFleet(Fleet):
    """`statistics`: a key of STATISTICS."""

    def __init__(self, binary, scratch, statistics="mongodb", **settings):
        super().__init__(binary, scratch, SINGLE, bus="embedded", **settings)
        self.statistics = STATISTICS[statistics](scratch / statistics)

    def start(self):
        self.statistics.start()
        self._settings |= {"STATISTICS__STORE": "mongodb", "STATISTICS__URL": self.statistics.url}
        super().start()

    def victims(self):
        """By name, what may be killed together."""
        gateways = {f"gateway {number}": [gateway] for number, gateway in enumerate(self.gateways)}
        return {**gateways, "Redis": self.redis.nodes, **self._with_redis()}

    def dependencies(self):
        return {**super().dependencies(), **self._with_redis()}

    def _with_redis(self):
        """Each server of the statistics store, alone and together with Redis."""
        servers = self.statistics.servers()
        alone = {name: [server] for name, server in servers.items()}
        return {**alone, **{f"Redis and {name}": [*self.redis.nodes, server] for name, server in servers.items()}}

    def pending(self):
        """Keys of sums that are not known to be in the statistics store, by redis-cli."""
        node = self.redis.nodes[0]
        return [key for name in ("sp", "sf") for key in node.cli("--scan", "--pattern", "{h*}:" + name)]

    def end(self):
        super().end()
        self.statistics.kill()
