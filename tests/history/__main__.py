"""`python -m history BINARY`: what users did is in Cassandra, whatever fails on the way from Redis by Kafka.

Two gateways, two jobs, a real Redis, Kafka and Cassandra. Exit code 1 if a promise broke.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from history import away, garbage, heal, kills, loss, same
from history.cost import Cost
from history.crowd import Crowd
from history.habits import wall_ms
from history.judge import Judge
from history.scene import RETENTION_DAYS, Scene
from history.viewer import Figures
from tiers.freezes import add_frozen_options

LOADERS = 2
FAULTS_SHOWN_MAX = 20
# From the kills on, rows leave Redis.
PARTS = ("same", "garbage", "heal", "kills", "loss", "away")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--users", type=int, default=1_000, help="whose data is compared")
    parser.add_argument("--rounds", type=int, default=5, help="kills")
    parser.add_argument("--acks", type=int, default=6_000, help="the most beats that are acked before a kill, and after it")
    parser.add_argument("--losses", type=int, choices=(1, 2), default=1, help="of Redis: by FLUSHALL, with its file, or both")
    add_frozen_options(parser)
    parser.add_argument("--away-beats", type=int, default=100_000, help="while Cassandra is away, and while Kafka is")
    parser.add_argument("--only", choices=PARTS, action="append", help="one of its parts; may be repeated")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the logs and the data")
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="heartline-history-"))
    part = Part(args, Scene(args.binary, scratch), Crowd(LOADERS, args.seed))
    try:
        ok = part.run()
    except BaseException:
        args.keep = True
        raise
    finally:
        part.crowd.end()
        part.scene.end()
        if args.keep:
            print(f"kept {scratch}")
        else:
            shutil.rmtree(scratch)
    sys.exit(0 if ok else 1)


class Part:
    """What the parts share."""

    def __init__(self, args, scene, crowd):
        print(f"seed {args.seed}, {args.rounds} kills, {args.away_beats} beats while something is away", flush=True)
        self._args, self.scene, self.crowd = args, scene, crowd
        self.dice = random.Random(args.seed)
        self.figures, self.faults = Figures(), []

    def run(self):
        """Whether all promises hold."""
        began = time.monotonic()
        self.scene.start()
        print(f"all started in {time.monotonic() - began:.1f} s", flush=True)
        parts = {
            "same": lambda: same.run(self, self._args.users),
            "garbage": lambda: garbage.run(self),
            "kills": lambda: kills.run(self, self._args),
            "heal": lambda: heal.run(self),
            "loss": lambda: loss.run(self, self._args.losses),
            "away": lambda: away.run(self, self._args.away_beats),
        }
        cost = Cost(self.scene)
        for name in self._args.only or PARTS:
            parts[name]()
            if name == "same":
                cost.tell(self.figures.beats)
            self.faults += self.figures.faults
            self.figures.faults = []
            if self.faults:
                break
        for promise, text in self.faults[:FAULTS_SHOWN_MAX]:
            print(f"FAULT {promise}: {text}")
        if self.faults:
            print(f"{len(self.faults)} faults; repeat with --seed {self._args.seed}")
            self._args.keep = True
        print(f"in all: {self.figures.beats} beats on {self.figures.sockets} sockets, {time.monotonic() - began:.0f} s")
        return not self.faults

    def judge(self, mids):
        """Compares all that is stored of these users; what was counted."""
        judge = Judge(self.faults, RETENTION_DAYS)
        judge.judge(self.crowd.known(mids), self.scene.table.users(mids), wall_ms())
        return judge

    def expect(self, holds, promise, text):
        if not holds:
            self.faults.append((promise, text))


if __name__ == "__main__":
    main()
