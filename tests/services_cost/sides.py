"""What is compared: each is a fleet with a Redis of its own, that stands idle while another one is loaded."""

from tiers.fleet import Fleet
from tiers.redis_server import SINGLE
from tiers.service_fleet import ServiceFleet


class Side:
    """`fleet`: its gateways take the load, in equal parts."""

    def __init__(self, name, fleet):
        self.name, self.fleet = name, fleet
        self.start, self.end = fleet.start, fleet.end

    @property
    def pids(self):
        """The processes that are measured together, by their name."""
        pids = {"gateways": [gateway.process.pid for gateway in self.fleet.gateways]}
        if self.fleet.committers is not self.fleet.gateways:
            pids["services"] = [service.process.pid for service in self.fleet.committers]
        return {**pids, "Redis": [node.pid for node in self.fleet.redis.nodes]}


def on_redis(gateways):
    def side(name, binary, scratch):
        return Side(name, Fleet(binary, scratch, SINGLE, gateways=gateways, bus="embedded"))

    return side


def on_services(name, binary, scratch):
    return Side(name, ServiceFleet(binary, scratch, SINGLE, bus="embedded"))


SIDES = {"one gateway": on_redis(1), "two gateways": on_redis(2), "services": on_services}
