"""`python -m auditor BINARY`: rounds of load, SIGKILL, restart and judgement. Exit code 1 if a promise broke."""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from auditor.crew import Loader
from auditor.event_log import EventLog, Tail
from auditor.judge import Judge
from auditor.readback import read_back
from auditor.rewards import Rewards, outbox_entries, published
from auditor.rules import SETTINGS
from wire.gateway import Gateway

KILL_AFTER_SECONDS = (0.4, 2.5)
KILL_STARTING_CHANCE = 0.25
ROUNDS_IN_FLIGHT_MIN = 0.8
# A kill that finds every event published shows nothing of the outbox.
ROUNDS_UNPUBLISHED_MIN = 0.3
OUTBOX_SECONDS_MAX = 20
FAULTS_SHOWN_MAX = 20
FIRST_NEWCOMER = 100_000  # and so many users for the newcomers of each loader


def main():
    args = _arguments()
    print(f"seed {args.seed}, {args.users} users and {args.newcomers} new ones a round, {args.rounds} rounds", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix="heartline-audit-"))
    gateway = Gateway(args.binary, scratch / "data", scratch / "gateway.log", **SETTINGS)
    loaders, ok = [], False
    try:
        share, newcomers = args.users // args.loaders, args.newcomers // args.loaders
        for n in range(args.loaders):
            # A drain turns away who comes.
            options = ("--crowded", "--newcomers", newcomers, "--first-newcomer", FIRST_NEWCOMER * (n + 1))
            loaders.append(Loader(1 + n * share, share, args.seed, scratch / f"journal-{n}", *map(str, options)))
        ok = Audit(args, gateway, loaders).run()
    finally:
        gateway.kill()
        for loader in loaders:
            loader.stop()
        if args.keep:
            print(f"kept {scratch}")
        else:
            shutil.rmtree(scratch)
    sys.exit(0 if ok else 1)


def _arguments():
    parser = argparse.ArgumentParser(prog="auditor", description=__doc__)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--newcomers", type=int, default=100, help="users who come anew in each round")
    parser.add_argument("--loaders", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the journals, the log and the data directory")
    return parser.parse_args()


class Audit:
    def __init__(self, args, gateway, loaders):
        self._args, self._gateway, self._loaders = args, gateway, loaders
        self._dice = random.Random(args.seed)
        self._judge = Judge([loader.journal for loader in loaders])
        self._faults = self._judge.faults
        self._log = EventLog(self._faults)
        self._rewards = Rewards(self._log, self._faults)
        self._with_flight = self._with_unpublished = 0

    def run(self):
        began, round_number = time.monotonic(), 0
        self._gateway.start()
        for loader in self._loaders:
            loader.wait_until_parked()
        while round_number < self._args.rounds and not self._faults:
            round_number += 1
            self._kill_round(round_number)
        if not self._faults:
            self._drain()
        code = self._gateway.stop()
        self._expect(code == 0, "drain", f"exit code {code} after SIGTERM")
        enough = self._with_flight >= ROUNDS_IN_FLIGHT_MIN * round_number
        self._expect(enough, "load", f"beats were in flight in only {self._with_flight} of {round_number} rounds")
        enough = self._with_unpublished >= ROUNDS_UNPUBLISHED_MIN * round_number
        self._expect(enough, "load", f"events were unpublished in only {self._with_unpublished} of {round_number} rounds")
        print(
            f"in all: {self._judge.totals()}, {self._judge.lost()} lost; {len(self._rewards.claims)} claims, "
            f"{self._rewards.repeated} events once more, {time.monotonic() - began:.0f} s"
        )
        return self._verdict()

    def _kill_round(self, number):
        alive = self._dice.uniform(*KILL_AFTER_SECONDS)
        figures = self._play(alive, self._gateway.kill)
        self._with_flight += figures.in_flight > 0
        twice = self._dice.random() < KILL_STARTING_CHANCE
        if twice:
            self._gateway.spawn()
            time.sleep(self._dice.uniform(0, 0.1))  # again a random moment, of the start this time
            self._gateway.kill()
        self._gateway.start()
        asyncio.run(read_back(self._gateway.ws, self._judge.lately(), self._dice.random()))
        self._judge_rewards(self._judge.lately())
        unpublished = published(self._gateway)
        self._with_unpublished += unpublished > 0
        print(
            f"round {number:3}: killed after {alive:4.2f} s{', again while starting' if twice else ''}: "
            f"{figures}, {self._judge.lost()} lost, {len(self._rewards.claims)} claims so far, {unpublished} events "
            f"unpublished, {len(self._faults)} faults",
            flush=True,
        )

    def _drain(self):
        """SIGTERM under load: nothing is left for the next process to publish, and the log is what was tailed."""
        self._judge.goodbyes = True
        ended = []
        figures = self._play(self._dice.uniform(*KILL_AFTER_SECONDS), lambda: ended.append(self._gateway.stop()))
        self._expect(ended == [0], "drain", f"exit code {ended} after SIGTERM under load")
        self._gateway.start()
        asyncio.run(read_back(self._gateway.ws, self._judge.ledgers(), self._dice.random()))
        self._judge_rewards(self._judge.ledgers())
        late = published(self._gateway)
        self._expect(late == 0, "I6", f"{late} events were published after the drain, by the next process")
        self._log.replay(self._gateway)
        print(f"drained under load: {figures}, {len(self._faults)} faults", flush=True)

    def _play(self, seconds, end):
        """The figures of what was played until the gateway was ended in this way."""
        tail = Tail(self._log, self._gateway)
        for loader in self._loaders:
            loader.go(self._gateway.ws)
        time.sleep(seconds)  # not a wait for anything: the random moment of the end
        end()
        tail.end()
        for loader in self._loaders:
            loader.wait_until_parked()
        return self._judge.read_journals()

    def _judge_rewards(self, asked):
        self._rewards.judge(self._gateway, self._judge.by_user(), asked)
        give_up = time.monotonic() + OUTBOX_SECONDS_MAX
        while (entries := outbox_entries(self._gateway)) and time.monotonic() < give_up:
            time.sleep(0.05)
        self._expect(not entries, "I6", f"{entries} entries stay in the outbox")

    def _expect(self, holds, promise, text):
        if not holds:
            self._faults.append((promise, text))

    def _verdict(self):
        for promise, text in self._faults[:FAULTS_SHOWN_MAX]:
            print(f"FAULT {promise}: {text}")
        if self._faults:
            print(f"{len(self._faults)} faults; repeat with --seed {self._args.seed}")
        return not self._faults


if __name__ == "__main__":
    main()
