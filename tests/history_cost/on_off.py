"""The same load at the same time on a gateway that carries to a history store, and on one that does not.

The speed of a machine that others use, too, changes by more than what is measured here, so that turns would not do.
"""

import statistics
from concurrent.futures import ThreadPoolExecutor

from history.scene import GatewayOnly
from tiers.fleet import Fleet
from tiers.redis_server import SINGLE
from wire import load

# The interval of packs has passed once before anything is measured, so that as many users are carried as become listed.
WARM_UP, SECONDS = 40, 60
PROCESSES = "gateway", "redis"


class Carrying(Fleet):
    """A gateway alone hands packs to Kafka; it never asks Cassandra."""

    gateway_kind = GatewayOnly


def run(binary, scratch, rounds, rate, new_contents, users):
    (scratch / "off").mkdir()
    (scratch / "on").mkdir()
    off = Fleet(binary, scratch / "off", SINGLE, gateways=1)
    on = Carrying(
        binary, scratch / "on", SINGLE, gateways=1, HISTORY__STORE="cassandra", CASSANDRA__NODES='["127.0.0.1:9"]'
    )
    fleets = {"off": off, "on": on}
    costs = {name: [] for name in fleets}
    try:
        for fleet in fleets.values():
            fleet.start()
        for number in range(rounds):
            with ThreadPoolExecutor() as pool:
                measured = pool.map(lambda fleet: _measure(binary, fleet, rate, new_contents, users), fleets.values())
                for name, cost in zip(fleets, measured):
                    costs[name].append(cost)
                    print(f"round {number}, history {name}: {_told(cost)}", flush=True)
    finally:
        for fleet in fleets.values():
            fleet.end()
    print(f"{rate} beats a second of {users} users on each gateway, {new_contents:.1%} of them of a new content:")
    for which in (*PROCESSES, "both"):
        without, with_it = (statistics.median(cost[which] for cost in costs[name]) for name in fleets)
        print(f"{which}: {without:.1f} µs a beat without, {with_it:.1f} with: {with_it / without - 1:+.1%}")


def _measure(binary, fleet, rate, new_contents, users):
    """Microseconds for each acked beat."""
    pids = [("gateway", fleet.gateways[0].process.pid), ("redis", fleet.redis.nodes[0].pid)]
    report = load.run(binary, fleet.urls, pids, rate, WARM_UP, SECONDS, new_contents, users)
    cost = {name: report["processes"][name]["cpu_us_per_ack"] for name in PROCESSES}
    return cost | {"both": sum(cost.values()), "p99": report["latency_ms"]["p99"]}


def _told(cost):
    return ", ".join(f"{which} {cost[which]:.1f} µs" for which in (*PROCESSES, "both")) + f", p99 {cost['p99']:.1f} ms"
