"""What counts the views."""

from tiers.counting_fleet import CountingFleet
from view_audit.pages import KIND as BY_REQUEST
from view_audit.players import KIND as BY_PLAYBACK

SETTINGS = {
    # The pages ask from one address, and each user as often as it comes.
    "LIMITS__FRAMES_PER_SECOND": 1_000_000,
    "LIMITS__BURST": 1_000_000,
    "VIEWS__BY_REQUEST": f"[{BY_REQUEST}]",
    "VIEWS__BY_PLAYBACK": f"[{BY_PLAYBACK}]",
    # The first beat is a view.
    "VIEWS__WATCHED": "0s",
}


class ViewFleet(CountingFleet):
    def __init__(self, binary, scratch, statistics):
        super().__init__(binary, scratch, statistics, **SETTINGS)

    def redis_bytes(self):
        said = self.redis.nodes[0].cli("INFO", "memory")
        return next(int(line.split(":")[1]) for line in said if line.startswith("used_memory:"))
