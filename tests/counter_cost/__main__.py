"""What derived counters cost a beat, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run python
    export PYTHONPATH=tests
    target/tests/venv/bin/python -m counter_cost target/release/heartline [--store redis]

The same load at the same time on a gateway with the three counters of deploy/heartline.toml and on one without: processor
time for each acked beat, of the gateway and of Redis. `--new-contents`: the share of beats that begin another content, which
change counters; all others only move a position on. With Redis, each gateway has a Redis and a MongoDB of its own.
"""

import argparse
import shutil
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tiers.fleet import Fleet
from tiers.mongo_server import MongoServer
from tiers.redis_server import SINGLE
from wire import load
from wire.gateway import Gateway

COUNTERS = """[
  { id = "viewers", key = ["kind", "oid"] },
  { id = "finishers", key = ["kind", "oid"], when = { finished = true } },
  { id = "in-progress", key = ["mid"], when = { finished = false } },
]"""
WARM_UP, SECONDS = 10, 30


def main():
    args = cost_parser(__doc__).parse_args()
    load.allow_sockets()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-counter-cost-"))
    start = on_redis if args.store == "redis" else embedded
    try:
        with ExitStack() as stack:
            sides = [start(args.binary, scratch / name, derived, stack) for name, derived in NAMES.items()]
            measure(args, sides)
    finally:
        shutil.rmtree(scratch)


def cost_parser(description):
    """Of what compares two gateways under the same load."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path, help="loadgen stands beside it")
    parser.add_argument("--store", choices=("embedded", "redis"), default="embedded")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rate", type=int, default=5_000, help="beats a second on each gateway")
    parser.add_argument("--new-contents", type=float, default=0.01, help="the share of beats of a new content")
    return parser


NAMES = {"with": COUNTERS, "without": "[]"}


def embedded(binary, scratch, derived, stack):
    """The addresses of a gateway, and its processes by their names."""
    scratch.mkdir()
    gateway = Gateway(binary, scratch / "data", scratch / "log", COUNTERS__DERIVED=derived)
    stack.callback(gateway.kill)
    gateway.start()
    return [gateway.ws], [("gateway", gateway.process.pid)]


def on_redis(binary, scratch, derived, stack):
    scratch.mkdir()
    mongo = MongoServer(scratch / "mongo")
    stack.callback(mongo.kill)
    mongo.start()
    statistics_store = {"STATISTICS__STORE": "mongodb", "STATISTICS__URL": mongo.url}
    fleet = Fleet(
        binary, scratch, SINGLE, gateways=1, bus="embedded", COUNTERS__DERIVED=derived, **statistics_store
    )
    stack.callback(fleet.end)
    fleet.start()
    return fleet.urls, [("gateway", fleet.gateways[0].process.pid), ("redis", fleet.redis.nodes[0].pid)]


def measure(args, sides):
    ratios, costs = [], []
    for number in range(args.rounds):
        with ThreadPoolExecutor() as pool:
            both = list(pool.map(lambda side: cost(args, *side), sides))
        costs.append(both)
        ratios.append(total(both[0]) / total(both[1]) - 1)
        print(f"round {number}: with {told(both[0])}; without {told(both[1])}; {ratios[-1]:+.1%}", flush=True)
    print(f"{args.rate} beats/s of {load.USERS} users, {args.new_contents:.1%} of a new content, on {args.store}:")
    print(f"{statistics.median(ratios):+.1%} (median; {min(ratios):+.1%} to {max(ratios):+.1%})")


def cost(args, urls, pids):
    """Microseconds for each acked beat, by process; and the latency in milliseconds."""
    report = load.run(args.binary, urls, pids, args.rate, WARM_UP, SECONDS, args.new_contents)
    return {name: report["processes"][name]["cpu_us_per_ack"] for name, _ in pids}, report["latency_ms"]["p99"]


def total(measured):
    return sum(measured[0].values())


def told(measured):
    parts = ", ".join(f"{name} {cost:.1f} µs" for name, cost in measured[0].items())
    return f"{parts} (p99 {measured[1]:.1f} ms)"


if __name__ == "__main__":
    main()
