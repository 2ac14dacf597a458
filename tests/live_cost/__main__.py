"""What the live numbers cost, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run python
    export PYTHONPATH=tests
    target/tests/venv/bin/python -m live_cost on-off target/release/heartline OTHER
    target/tests/venv/bin/python -m live_cost streams target/release/heartline

`on-off`: the same load at the same time on a gateway and on OTHER, which is built without the line in src/app/live.rs
that adds the inlet to the commit listeners: processor time for each acked beat. `streams`: the same load on two
gateways, one of them with 1,000 open streams of live numbers: latency of the acks.

    LIVE_TOP_STREAM=/tmp/stream cargo bench --bench live_top
    target/tests/venv/bin/pip install datasketches==5.2.0
    target/tests/venv/bin/python -m live_cost ranking /tmp/stream

`ranking`: how well a sketch of Apache DataSketches knows the most watched contents of the benchmark.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from live_cost import on_off, streams
from wire import load


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("on-off", "streams"):
        measured = commands.add_parser(name)
        measured.add_argument("binary", type=Path, help="loadgen stands beside it")
        measured.add_argument("--rounds", type=int, default=4)
        measured.add_argument("--rate", type=int, default=5_000, help="beats a second on each gateway")
        if name == "on-off":
            measured.add_argument("other", type=Path, help="a binary without the live numbers")
    commands.add_parser("ranking").add_argument("stream", type=Path, help="what the benchmark has written")
    args = parser.parse_args()
    if args.command == "ranking":
        # Nothing else needs the crate of the sketch.
        from live_cost import ranking

        return ranking.run(args.stream)
    load.allow_sockets()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-live-cost-"))
    try:
        if args.command == "on-off":
            on_off.run(args.binary, args.other, scratch, args.rounds, args.rate)
        else:
            streams.run(args.binary, scratch, args.rounds, args.rate)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
