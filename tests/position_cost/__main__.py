"""What it costs a beat that a subscriber follows positions, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run python
    export PYTHONPATH=tests
    target/tests/venv/bin/python -m position_cost target/release/heartline [--store redis]

The same load at the same time on two gateways: a subscriber follows all positions of one, in batches of 100, and none those
of the other. Printed is the processor time for each acked beat, of the gateway, which also publishes and delivers, and of
Redis. Kafka and the receiver are not counted. On Redis, each gateway has a Redis and a Kafka of its own.
"""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from counter_cost.__main__ import cost_parser, measure
from subscriber_load.receiver import Receiver
from tiers.fleet import Fleet
from tiers.redis_server import SINGLE
from wire import load
from wire.gateway import Gateway
from wire.kept import Kept
from wire.patience import until

SETTINGS = {"SUBSCRIBERS__ALLOW_HTTP": "true", "SUBSCRIBERS__ALLOW_NETWORKS": '["127.0.0.1/32"]'}
FOLLOWED = ["dev.heartline.position.v1", "dev.heartline.forgotten.v1"]


def main():
    parser = cost_parser(__doc__)
    parser.add_argument("--node", default="node")
    args = parser.parse_args()
    load.allow_sockets()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-position-cost-"))
    try:
        with ExitStack() as stack:
            receiver = Receiver(args.node, scratch / "arrivals")
            stack.callback(receiver.end)
            start = on_redis if args.store == "redis" else embedded
            sides = [start(args.binary, scratch / name, stack) for name in ("followed", "alone")]
            follow(sides[0][0], receiver)
            measure(args, [(urls, pids) for _, urls, pids in sides])
            receiver.look()
            print(f"the subscriber has got {len(receiver.arrivals)} positions")
    finally:
        shutil.rmtree(scratch)


def embedded(binary, scratch, stack):
    """A gateway, its addresses, and its processes by their names."""
    scratch.mkdir()
    gateway = Gateway(binary, scratch / "data", scratch / "log", **SETTINGS)
    stack.callback(gateway.kill)
    gateway.start()
    return gateway, [gateway.ws], [("gateway", gateway.process.pid)]


def on_redis(binary, scratch, stack):
    scratch.mkdir()
    fleet = Fleet(binary, scratch, SINGLE, gateways=1, **SETTINGS)
    stack.callback(fleet.end)
    fleet.start()
    gateway = fleet.gateways[0]
    return gateway, fleet.urls, [("gateway", gateway.process.pid), ("redis", fleet.redis.nodes[0].pid)]


def follow(gateway, receiver):
    body, kept = {"url": receiver.url(0), "types": FOLLOWED, "batch": 100}, Kept()
    # A topic that was just made has no leader yet.
    put = lambda: kept.ask(gateway.control, "PUT", "/v1/subscribers/follower", body=body)[0] in (200, 201)
    until("the subscriber is made", put)


if __name__ == "__main__":
    main()
