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
from auditor.judge import Judge
from auditor.readback import read_back
from wire.gateway import Gateway

KILL_AFTER_SECONDS = (0.4, 2.5)
KILL_STARTING_CHANCE = 0.25
ROUNDS_IN_FLIGHT_MIN = 0.8
FAULTS_SHOWN_MAX = 20


def main():
    args = _arguments()
    print(f"seed {args.seed}, {args.users} users, {args.rounds} rounds", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix="heartline-audit-"))
    gateway = Gateway(args.binary, scratch / "data", scratch / "gateway.log")
    loaders, ok = [], False
    try:
        share = args.users // args.loaders
        for n in range(args.loaders):
            loaders.append(Loader(1 + n * share, share, args.seed, scratch / f"journal-{n}"))
        ok = _run(args, gateway, loaders, Judge([loader.journal for loader in loaders]))
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
    parser.add_argument("--loaders", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the journals, the log and the data directory")
    return parser.parse_args()


def _run(args, gateway, loaders, judge):
    dice = random.Random(args.seed)
    began, with_flight = time.monotonic(), 0
    gateway.start()
    for loader in loaders:
        loader.wait_until_parked()
    for round_number in range(1, args.rounds + 1):
        for loader in loaders:
            loader.go(gateway.ws)
        alive = dice.uniform(*KILL_AFTER_SECONDS)
        time.sleep(alive)  # not a wait for anything: the random moment of the kill
        gateway.kill()
        for loader in loaders:
            loader.wait_until_parked()
        figures = judge.read_journals()
        with_flight += figures.in_flight > 0
        twice = dice.random() < KILL_STARTING_CHANCE
        if twice:
            gateway.spawn()
            time.sleep(dice.uniform(0, 0.1))  # again a random moment, of the start this time
            gateway.kill()
        gateway.start()
        asyncio.run(read_back(gateway.ws, judge.ledgers(), dice.random()))
        print(
            f"round {round_number:3}: killed after {alive:4.2f} s{', again while starting' if twice else ''}: "
            f"{figures}, {judge.lost()} lost, {len(judge.faults)} faults",
            flush=True,
        )
        if judge.faults:
            break
    code = gateway.stop()
    print(f"in all: {judge.totals()}, {judge.lost()} lost, {time.monotonic() - began:.0f} s")
    return _verdict(args, judge, round_number, with_flight, code)


def _verdict(args, judge, rounds, with_flight, code):
    for promise, text in judge.faults[:FAULTS_SHOWN_MAX]:
        print(f"FAULT {promise}: {text}")
    if judge.faults:
        print(f"{len(judge.faults)} faults; repeat with --seed {args.seed}")
    if code != 0:
        print(f"FAULT drain: exit code {code} after SIGTERM")
    enough = with_flight >= ROUNDS_IN_FLIGHT_MIN * rounds
    if not enough:
        print(f"FAULT load: beats were in flight at the kill in only {with_flight} of {rounds} rounds")
    return not judge.faults and code == 0 and enough


if __name__ == "__main__":
    main()
