"""Two gateways that count in one Redis and carry the sums to one MongoDB."""

from tiers.fleet import Fleet
from tiers.mongo_server import MongoServer
from tiers.redis_server import SINGLE


class CountingFleet(Fleet):
    def __init__(self, binary, scratch, **settings):
        super().__init__(binary, scratch, SINGLE, bus="embedded", **settings)
        self.mongo = MongoServer(scratch / "mongo")

    def start(self):
        self.mongo.start()
        self._settings |= {"STATISTICS__STORE": "mongodb", "STATISTICS__URL": self.mongo.url}
        super().start()

    def victims(self):
        """By name, what may be killed together."""
        return {
            "gateway 0": [self.gateways[0]],
            "gateway 1": [self.gateways[1]],
            "Redis": self.redis.nodes,
            "MongoDB": [self.mongo],
            "Redis and MongoDB": [*self.redis.nodes, self.mongo],
        }

    def dependencies(self):
        both = {"MongoDB": [self.mongo], "Redis and MongoDB": [*self.redis.nodes, self.mongo]}
        return {**super().dependencies(), **both}

    def pending(self):
        """Keys of sums that are not known to be in MongoDB, by redis-cli."""
        node = self.redis.nodes[0]
        return [key for name in ("sp", "sf") for key in node.cli("--scan", "--pattern", "{h*}:" + name)]

    def end(self):
        super().end()
        self.mongo.kill()
