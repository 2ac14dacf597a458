"""What it costs to carry beats to Cassandra, run by hand on a quiet machine.

    cargo build --release --features fleet && tests/run history
    target/tests/venv/bin/pip install quixstreams
    export TOOLS=$PWD/target/tests PYTHONPATH=tests
    target/tests/venv/bin/python -m history_cost target/release/heartline on-off
    target/tests/venv/bin/python -m history_cost target/release/heartline trace
    target/tests/venv/bin/python -m history_cost target/release/heartline trim

`on-off`: the same load on a gateway that carries and on one that does not, at the same time: processor time of gateway
and Redis for each acked beat. `trace`: players who send a beat every 5 s, carried by Heartline, then the same beats as
one message and one write each, by quixstreams and cassandra-driver, to the same final table. `trim`: what idle users take
in Redis before and after their rows have left, how long that takes, and what reads wait.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from history_cost import on_off, trace, trim
from wire import load


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path, help="loadgen stands beside it")
    commands = parser.add_subparsers(dest="command", required=True)
    rounds = commands.add_parser("on-off")
    rounds.add_argument("--rounds", type=int, default=3)
    rounds.add_argument("--rate", type=int, default=5_000, help="beats a second on each gateway")
    rounds.add_argument("--users", type=int, default=load.USERS, help="of each gateway")
    rounds.add_argument("--new-contents", type=float, default=0.1, help="share of beats that begin a content")
    played = commands.add_parser("trace")
    played.add_argument("--seconds", type=int, default=600)
    trimmed = commands.add_parser("trim")
    trimmed.add_argument("--idle-users", type=int, default=10_000)
    trimmed.add_argument("--contents", type=int, default=200, help="of each")
    trimmed.add_argument("--most-contents", type=int, default=5_000, help="of one more user")
    args = parser.parse_args()
    load.allow_sockets()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-history-cost-"))
    try:
        if args.command == "on-off":
            on_off.run(args.binary, scratch, args.rounds, args.rate, args.new_contents, args.users)
        elif args.command == "trim":
            trim.run(args.binary, scratch, args.idle_users, args.contents, args.most_contents)
        else:
            trace.run(args.binary, scratch, args.seconds)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
