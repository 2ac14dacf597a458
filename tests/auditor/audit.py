"""What every audit has: users who play, rounds in which something is killed, and the verdict."""

import argparse
import random
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from auditor.crew import Loader
from auditor.judge import Judge
from auditor.progress import LOOK_EVERY_SECONDS, Progress
from auditor.rewards import Rewards, outbox_entries
from wire.patience import came

FAULTS_SHOWN_MAX = 20
# Frames of beats that are acked before something is killed, for each user of a round.
ACKS_A_USER = (0.5, 15)
# And then so long, so that a kill does not always meet the same moment of a commit.
MOMENT_SECONDS = 0.02
FIRST_NEWCOMER = 100_000  # and so many users for the newcomers of each loader


def arguments(doc, rounds, users=300, newcomers=100):
    """The command line that all have, to be added to."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--users", type=int, default=users)
    parser.add_argument("--newcomers", type=int, default=newcomers, help="users who come anew in each round")
    parser.add_argument("--loaders", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the journals, the logs and the data")
    return parser


@contextmanager
def scratch_directory(args):
    scratch = Path(tempfile.mkdtemp(prefix="heartline-audit-"))
    try:
        yield scratch
    finally:
        if args.keep:
            print(f"kept {scratch}")
        else:
            shutil.rmtree(scratch)


class Audit:
    """`start`, `round`, `drain` and `end` say what is audited."""

    def __init__(self, args, scratch, log_of, unpublished=outbox_entries, others=None):
        """`log_of`: makes what reads events, from the list that it adds faults to. `unpublished`, `others`: as of
        `Rewards`."""
        print(f"seed {args.seed}, {args.users} users and {args.newcomers} new ones a round, {args.rounds} rounds", flush=True)
        self.args = args
        self.dice = random.Random(args.seed)
        self.loaders = []
        share, newcomers = args.users // args.loaders, args.newcomers // args.loaders
        for n in range(args.loaders):
            # A drain refuses new connections.
            options = ("--crowded", "--newcomers", newcomers, "--first-newcomer", FIRST_NEWCOMER * (n + 1))
            options += ("--ack-delay", getattr(args, "hold", 0))
            journal = scratch / f"journal-{n}"
            self.loaders.append(Loader(1 + n * share, share, args.seed, journal, *map(str, options)))
        journals = [loader.journal for loader in self.loaders]
        self.judge, self.progress = Judge(journals), Progress(journals)
        self.faults = self.judge.faults
        self.log = log_of(self.faults)
        self.rewards = Rewards(self.log, self.faults, others, unpublished)

    def run(self):
        """Whether all promises hold."""
        began, number = time.monotonic(), 0
        try:
            self.start()
            self.wait_until_parked()
            while number < self.rounds() and not self.faults:
                number += 1
                self.round(number)
            if not self.faults:
                self.drain()
            self.end(number)
        except Exception as error:
            # Before a long traceback: what went wrong, and where.
            print(f"broken off in round {number}: {type(error).__name__}: {error}", flush=True)
            self.args.keep = True
            raise
        finally:
            for loader in self.loaders:
                loader.stop()
        print(
            f"in all: {self.judge.totals()}, {self.judge.lost()} lost; {len(self.rewards.claims)} claims, "
            f"{self.rewards.repeated} events once more, {time.monotonic() - began:.0f} s"
        )
        for promise, text in self.faults[:FAULTS_SHOWN_MAX]:
            print(f"FAULT {promise}: {text}")
        if self.faults:
            print(f"{len(self.faults)} faults; repeat with --seed {self.args.seed}")
            # The logs are kept to find the cause.
            self.args.keep = True
        return not self.faults

    def rounds(self):
        """How many there are."""
        return self.args.rounds

    def wait_until_parked(self):
        for loader in self.loaders:
            loader.wait_until_parked()

    def some_acks(self, share=1):
        """A random number, of which a share of the users that play has its part."""
        return 1 + int(share * self.dice.uniform(*ACKS_A_USER) * (self.args.users + self.args.newcomers))

    def play_on(self, acks, gateways, promise="load", without=None):
        """Until so many frames that are sent from now on were acked. `without`: what was killed, and is not there."""
        self.progress.begin()
        reached = self.progress.reaches(acks, lambda: all(gateway.process.poll() is None for gateway in gateways))
        if reached:
            time.sleep(self.dice.uniform(0, MOMENT_SECONDS))
            came(self.progress.waits, every=LOOK_EVERY_SECONDS)
            return
        text = f"only {self.progress.acked()} of {acks} acks come{f' without {without}' if without else ''}"
        ended = [gateway.process.returncode for gateway in gateways if gateway.process.poll() is not None]
        self.expect(False, promise, f"{text}{f'; a gateway ended by itself, with {ended}' if ended else ''}")

    def expect(self, holds, promise, text):
        if not holds:
            self.faults.append((promise, text))
