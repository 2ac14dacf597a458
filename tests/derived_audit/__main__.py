"""`python -m derived_audit BINARY [--store embedded|redis]`: derived counters, while what counts them is killed under load.

Users watch, finish, delete, clear, change devices and are erased. In each round a gateway, Redis, MongoDB, or Redis and
MongoDB together are killed with SIGKILL and started again. Then every number of every counter is that of the records that
users read. Definitions that change are answered 503 until they are counted, and then rightly. Recounts under load find no
difference. Exit code 1 if a promise broke.
"""

import random
import time

from derived_audit import recount
from derived_audit.book import Book
from derived_audit.callers import Caller
from derived_audit.counters import AT_FIRST, LATER
from derived_audit.crowd import Crowd
from derived_audit.records import differences, read_records
from derived_audit.sites import SITES
from derived_audit.switch import Reader, RestingUsers
from tiers.blows import Blows
from tiers.freezes import add_frozen_options
from tiers.kill_audit import kill_audit_parser, run_kill_audit
from wire.patience import came

CALLERS = 4
# Operations that are answered before something is killed, and when it is back.
ANSWERS_A_ROUND = (200, 800)
RECOUNT_CHANCE = 0.5


def main():
    parser = kill_audit_parser("derived_audit", __doc__, rounds=5, sites=SITES)
    add_frozen_options(parser)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--records", type=int, default=10_000, help="of resting users, when definitions change; 0: none change")
    parser.add_argument("--switches", type=int, default=2, help="of definitions")
    drain = "seconds in which cleared and expired records are removed, and sums carried"
    parser.add_argument("--drain", type=float, default=60, help=drain)
    args = parser.parse_args()
    run_kill_audit(args, SITES[args.store], lambda scratch, site: DerivedAudit(args, scratch, site).run())


class DerivedAudit:
    def __init__(self, args, scratch, site):
        print(f"seed {args.seed}, {args.users} users on {args.store}, {args.rounds} rounds", flush=True)
        self._args, self._site, self._dice = args, site, random.Random(args.seed)
        self._faults, self._book = [], Book(scratch / "journal")
        self._users = range(1, args.users + 1)
        self._resting = RestingUsers(site, args.seed, args.records)
        self._definitions = AT_FIRST

    def run(self):
        """What broke."""
        self._site.start()
        self._blows = Blows(self._args, self._dice, self._site)
        steps = [lambda number=number: self._round(number) for number in self._blows.rounds]
        steps.append(self._compare)
        if self._args.records:
            steps += [self._resting.come, *self._switches()]
            steps.append(self._recounts)
        for step in steps:
            if not self._faults:
                step()
        done = {what: self._book.count(what) for what in ("answered", "again", "beats", "delete", "clear", "erase")}
        print(f"{self._blows}; operations: {done}")
        self._expect(done["again"] > 0 or not self._args.rounds, "load", "no kill left an operation to be sent again")
        return self._faults

    def _round(self, number):
        job = None
        with self._load(f"round {number}"):
            self._play_on()
            if self._dice.random() < RECOUNT_CHANCE:
                job = recount.begin(self._dice.choice(self._site.gateways), self._dice.choice(self._definitions).id)
            blow = self._blows.strike(number)
            recovered = self._site.wait_until_ready()
            self._play_on()
            state = self._judge_recount(job, ("done", "failed")) if job else "none"
        print(
            f"round {number:3}: {blow}, all ready {recovered:.2f} s later, recount {state}: "
            f"{self._book.count()} answers, {self._book.count('again')} sent again, {len(self._faults)} faults",
            flush=True,
        )

    def _switches(self):
        """There and back as often as is asked for; a gateway is killed at the last."""
        last = self._args.switches - 1
        return [
            lambda number=number: self._switch(AT_FIRST if number % 2 else LATER, kills=number == last)
            for number in range(self._args.switches)
        ]

    def _recounts(self):
        """Of all counters under load, one of them for some keys only."""
        began = time.monotonic()
        with self._load("recounts"):
            self._play_on()
            jobs = []
            for definition in self._definitions:
                gateway = self._dice.choice(self._site.gateways)
                keys = [["1", str(oid)] for oid in range(1, 9)] if definition.id == "viewers" else ()
                jobs.append(recount.begin(gateway, definition.id, keys))
            for job in jobs:
                self._judge_recount(job, ("done",))
        found = recount.differences_found(self._site)
        self._expect(found == 0, "recount", f"recounts have found {found} differences, say the metrics")
        print(f"recounts of all under load: {time.monotonic() - began:.2f} s, {len(self._faults)} faults", flush=True)
        self._compare()

    def _judge_recount(self, job, states):
        """How it ended. One that was under way at a kill may have failed."""
        ended = recount.ended(self._dice.choice(self._site.gateways), job)
        holds = ended["state"] in states and ended["differences"] == []
        self._expect(holds, "recount", f"the recount {job} ends with {ended}")
        return ended["state"]

    def _switch(self, definitions, kills=False):
        """`kills`: a gateway, while it may be counting."""
        began, before = time.monotonic(), {definition.id: definition for definition in self._definitions}
        changed = [definition for definition in definitions if definition != before.get(definition.id)]
        kept = [definition for definition in definitions if definition not in changed]
        gone = before.keys() - {definition.id for definition in definitions}
        with self._load(f"switch to {len(definitions)}"):
            self._play_on()
            self._site.restart(definitions)
            self._definitions = definitions
            if kills:
                self._blows.kill(next(iter(self._site.victims())))
                self._site.wait_until_ready()
            readers = [Reader(gateway, self._args.seed, self._faults) for gateway in self._site.gateways]
            for reader in readers:
                for counter in gone:
                    reader.expect_gone(counter)
                reader.wait_for(changed, self._resting, lambda: [reader.read_kept(definition) for definition in kept])
                for definition in kept:
                    reader.expect_kept(definition)
            switched = time.monotonic() - began
            self._play_on()
        refused = readers[0].refused
        print(f"switched after {switched:.2f} s, refused at first: {refused}, {len(self._faults)} faults", flush=True)
        self._compare()

    def _load(self, name):
        return Load(f"{self._args.seed} {name}", self._users, self._site, self._book, self._faults)

    def _play_on(self):
        """Until so many operations more are answered."""
        enough = self._book.count() + self._dice.randint(*ANSWERS_A_ROUND)
        reached = came(lambda: self._faults or self._book.count() >= enough)
        self._expect(reached, "load", f"only {self._book.count()} of {enough} operations are answered")

    def _compare(self):
        """All numbers with the records. A record counts until it is removed, some time after reads have stopped returning it."""
        began, found = time.monotonic(), []

        def are_equal():
            records = self._resting.records + read_records(self._site, self._users)
            users = [*self._users, *self._resting.users] if self._resting.records else self._users
            found[:] = differences(self._site, self._definitions, users, records)
            self._compared = len(records)
            return not found

        if not came(are_equal, self._args.drain, every=0.5):
            self._faults.extend(("counters", text) for text in found)
        print(
            f"compared with {self._compared} records: {time.monotonic() - began:.2f} s, {len(self._faults)} faults",
            flush=True,
        )

    def _expect(self, holds, promise, text):
        if not holds:
            self._faults.append((promise, text))


class Load:
    """Users on sockets and callers, from `with` to its end."""

    def __init__(self, seed, users, *of):
        self._threads = [Crowd(seed, users, *of)]
        self._threads += [Caller(f"caller {n}", seed, users, *of) for n in range(CALLERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_):
        for thread in self._threads:
            thread.end()


if __name__ == "__main__":
    main()
