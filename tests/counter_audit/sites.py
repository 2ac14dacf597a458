"""What counts: a gateway with its own store, or two on one Redis."""

from auditor.rewards import outbox_entries
from counter_audit.book import COUNTERS
from tiers.fleet import Fleet
from tiers.lone_gateway import LoneGateway
from tiers.redis_server import SINGLE

SETTINGS = {"COUNTERS__DIRECT": f"[{COUNTERS}]"}


class EmbeddedSite(LoneGateway):
    def __init__(self, binary, scratch):
        super().__init__(binary, scratch, **SETTINGS)

    def unpublished(self):
        """Entries of the outbox."""
        return outbox_entries(self.gateways[0])


class RedisSite(Fleet):
    def __init__(self, binary, scratch):
        super().__init__(binary, scratch, SINGLE, bus="embedded", **SETTINGS)

    def victims(self):
        """By name, what may be killed together."""
        return {"gateway 0": [self.gateways[0]], "gateway 1": [self.gateways[1]], "Redis": self.redis.nodes}

    def unpublished(self):
        return self.redis.outbox_entries()


SITES = {"embedded": EmbeddedSite, "redis": RedisSite}
