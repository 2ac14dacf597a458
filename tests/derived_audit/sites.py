"""What counts: a gateway with its own store, or two on one Redis and one MongoDB."""

from derived_audit.counters import AT_FIRST, settings
from derived_audit.habits import RETENTION_MS
from tiers.counting_fleet import CountingFleet
from tiers.lone_gateway import LoneGateway

SETTINGS = {
    # All come from one address, and each user as often as it likes.
    "LIMITS__FRAMES_PER_SECOND": 1_000_000,
    "LIMITS__BURST": 1_000_000,
    "LIMITS__LIST_ROWS_PER_SECOND": 1_000_000,
    "LIMITS__LIST_ROWS_BURST": 1_000_000,
    # Late records expire while users play, and busy users reach the cap.
    "STORE__RETENTION": f"{RETENTION_MS}ms",
    "STORE__RECORDS_PER_USER": 16,
    "STORE__PRUNE_INTERVAL": "1s",
    "COUNTERS__FLUSH_INTERVAL": "500ms",
}


class _Counting:
    """Of both kinds."""

    def __init__(self, binary, scratch):
        super().__init__(binary, scratch, **SETTINGS, **settings(AT_FIRST))

    def restart(self, definitions):
        """With other definitions, and without a kill."""
        for gateway in self.gateways:
            gateway.stop()
        for gateway in self.gateways:
            gateway.settings |= settings(definitions)
            gateway.words = ("serve", "--accept-settings")
            gateway.start()


class EmbeddedSite(_Counting, LoneGateway):
    late_chance = 0.02


class RedisSite(_Counting, CountingFleet):
    # Redis looks at a user once for all records of a day: one that came late may outlive a retention of minutes.
    late_chance = 0


SITES = {"embedded": EmbeddedSite, "redis": RedisSite}
