"""What a delivery to a subscriber costs beside BullMQ, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run python subscribers
    npm install --prefix target/tests/bullmq bullmq ioredis
    export PYTHONPATH=tests TOOLS=target/tests
    target/tests/venv/bin/python -m subscriber_cost target/release/heartline --bullmq target/tests/bullmq

Owners with the same number of events each, all at once and at a steady rate, in turns: from Kafka through a cascade, and
from BullMQ with a queue and a worker for each owner. Both use a Redis that syncs each write, sign each request, send one event
in each, and one at a time to each owner, to the same receiver on this machine. Printed are deliveries for each second of
processor time, of all that delivers and its Redis. Kafka is not counted, nor what puts the events there. Then how long
events of most owners take while one hangs and one gets a hundred times as much as each other.
"""

import argparse
import itertools
import shutil
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from subscriber_cost.neighbours import beside_neighbours
from subscriber_cost.pace import send
from subscriber_cost.sides import BullMq, Heartline, event
from subscriber_load.receiver import Receiver
from wire.processes import cpu_seconds

WARM_UP_EVENTS = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--bullmq", type=Path, required=True, help="the folder with its node_modules")
    parser.add_argument("--node", default="node")
    parser.add_argument("--owners", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=30, help="of each owner, in each round")
    parser.add_argument("--rate", type=int, default=2_000, help="events a second that do not come at once")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-subscriber-cost-"))
    try:
        with ExitStack() as stack:
            compare(args, scratch, stack)
    finally:
        shutil.rmtree(scratch)


def compare(args, scratch, stack):
    receiver = Receiver(args.node, scratch / "arrivals")
    stack.callback(receiver.end)
    sides = [
        Heartline(args.binary, scratch, receiver, args.owners),
        BullMq(args.node, args.bullmq.resolve(), scratch, receiver, args.owners),
    ]
    for side in sides:
        stack.callback(side.end)
        side.start()
    numbers = itertools.count()
    for side in sides:
        measure(side, receiver, events_of(args.owners, WARM_UP_EVENTS, numbers), 0)
    for rate in (0, args.rate):
        ratios = []
        for _ in range(args.rounds):
            rates = [measure(side, receiver, events_of(args.owners, args.events, numbers), rate) for side in sides]
            ratios.append(rates[0] / rates[1])
        how = f"{rate} events a second" if rate else "all events at once"
        print(f"{how}: {statistics.median(ratios):.1f}× the deliveries ({min(ratios):.1f} to {max(ratios):.1f})", flush=True)
    for side in sides:
        for _ in range(args.rounds):
            quiet, beside = beside_neighbours(side, receiver, args, numbers)
            others = f"{1_000 * quiet:.1f} ms, {1_000 * beside:.1f} ms beside the two, {beside / quiet:.2f}×"
            print(f"{side.name}: p99 of the others {others}", flush=True)


def events_of(owners, each, numbers):
    return [(str(owner), event(next(numbers), owner)) for _ in range(each) for owner in range(owners)]


def measure(side, receiver, events, rate):
    """Deliveries for each second of processor time."""
    first, processes = len(receiver.arrivals), side.processes
    before, began = {name: cpu_seconds(pid) for name, pid in processes.items()}, time.monotonic()
    send_all(side, events, rate)
    if not receiver.wait_for({one["id"] for _, one in events}):
        raise RuntimeError(f"events of {side.name} do not come")
    took = time.monotonic() - began
    used = {name: cpu_seconds(pid) - before[name] for name, pid in processes.items()}
    check_order(side, receiver.arrivals[first:], events)
    parts = ", ".join(f"{name} {1_000_000 * seconds / len(events):.0f} µs" for name, seconds in used.items())
    of_a_second = len(events) / sum(used.values())
    print(f"{side.name}: {len(events)} deliveries in {took:.1f} s; {parts} each; {of_a_second:.0f} a second", flush=True)
    return of_a_second


def send_all(side, events, rate):
    if rate:
        list(send(side, events, rate))
    else:
        with side.all_at_once():
            side.send(events)


def check_order(side, arrivals, events):
    came, sent = {}, {}
    for arrival in arrivals:
        came.setdefault(arrival.owner, {})[arrival.event] = None
    for owner, one in events:
        sent.setdefault(int(owner), []).append(one["id"])
    if wrong := [owner for owner in sent if list(came[owner]) != sent[owner]]:
        raise RuntimeError(f"{side.name} has not kept the order of {len(wrong)} owners")


if __name__ == "__main__":
    main()
