"""What history services cost a beat, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run python
    export PYTHONPATH=tests
    target/tests/venv/bin/python -m services_cost target/release/heartline

The same load in turns on one gateway and on two gateways that are on Redis themselves, and on two gateways without a store,
whose users two history services commit for. Each side has a Redis of its own. Users have a socket each, and send a beat a
frame, one at a time. Printed is the processor time for each beat that was stored and acked, of all threads of gateways,
services and Redis. After each load all acked contents are read back by loadgen, and the rows of Redis are counted.
"""

import argparse
import shutil
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from services_cost.measured import measure
from services_cost.sides import SIDES
from wire.load import USERS, allow_sockets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path, help="loadgen stands beside it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sockets", type=int, default=USERS)
    parser.add_argument("--rate", type=int, default=5_000, help="beats a second in all")
    parser.add_argument("--seconds", type=int, default=20, help="of each measurement")
    parser.add_argument("--new-contents", type=float, default=0.1, help="share of beats that begin a content")
    parser.add_argument("--sides", nargs="+", choices=sorted(SIDES), default=list(SIDES))
    args = parser.parse_args()
    allow_sockets()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-services-cost-"))
    try:
        with ExitStack() as stack:
            compare(args, scratch, [started(args, scratch, name, stack) for name in args.sides])
    finally:
        shutil.rmtree(scratch)


def started(args, scratch, name, stack):
    (scratch / name).mkdir()
    side = SIDES[name](name, args.binary, scratch / name)
    stack.callback(side.end)
    side.start()
    return side


def compare(args, scratch, sides):
    costs = {side.name: [] for side in sides}
    for number in range(args.rounds):
        # No side always comes after the same one.
        for side in sides if number % 2 == 0 else reversed(sides):
            costs[side.name].append(cost := measure(args, scratch, side))
            print(f"round {number}, {side.name}: {cost}", flush=True)
    print(f"{args.sockets} sockets, {args.rate} beats/s, {args.new_contents:.1%} of a new content; medians of {args.rounds}:")
    for name, measured in costs.items():
        told(name, measured)
    last = sides[-1].name
    for name in list(costs)[:-1]:
        ratios = [many.total / few.total for few, many in zip(costs[name], costs[last])]
        whole = median(costs[last], lambda cost: cost.total) / median(costs[name], lambda cost: cost.total)
        print(f"{last} beside {name}: {whole:.2f}× (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})")


def told(name, measured):
    print(f"{name}: {median(measured, lambda cost: cost.total):.1f} µs a beat")
    for process in measured[0].processes:
        of_process = median(measured, lambda cost: cost.processes[process])
        print(f"    {process}: {of_process:.1f} µs")
        threads = {thread for cost in measured for thread in cost.threads[process]}
        by_thread = {thread: median(measured, lambda cost: cost.threads[process].get(thread, 0)) for thread in threads}
        shown = sorted(by_thread.items(), key=lambda one: -one[1])
        print(f"        {', '.join(f'{thread} {used:.1f}' for thread, used in shown if used >= 0.05)}")
    for what in measured[0].sizes:
        print(f"    {what}: {median(measured, lambda cost: cost.sizes[what]):.1f}")
    print(f"    p50 {median(measured, lambda cost: cost.p50):.1f} ms, p99 {median(measured, lambda cost: cost.p99):.1f} ms")


def median(measured, figure):
    return statistics.median(map(figure, measured))


if __name__ == "__main__":
    main()
