"""`python -m counter_audit BINARY [--store embedded|redis]`: direct counters, while what counts them is killed under load.

Callers add to keys, most with an id that they repeat until it is answered. In each round a gateway or Redis is killed with
SIGKILL and started again. In the end every value is what the answers say, and each threshold that a key has crossed has
exactly one event id. Exit code 1 if a promise broke.
"""

import random
import time

from counter_audit.book import Book, judge
from counter_audit.callers import Caller, read_values
from counter_audit.events import events_of
from counter_audit.sites import SITES
from tiers.blows import Blows
from tiers.freezes import add_frozen_options
from tiers.kill_audit import kill_audit_parser, run_kill_audit
from wire.patience import came, until

CALLERS = 12
# Requests that are answered before something is killed, and when it is back.
ANSWERS_A_ROUND = (50, 500)
AWAY_SECONDS = (0.0, 0.5)


def main():
    parser = kill_audit_parser("counter_audit", __doc__, rounds=12, sites=SITES)
    add_frozen_options(parser)
    args = parser.parse_args()
    run_kill_audit(args, SITES[args.store], lambda _, site: CounterAudit(args, site).run())


class CounterAudit:
    def __init__(self, args, site):
        print(f"seed {args.seed}, {CALLERS} callers on {args.store}, {args.rounds} rounds", flush=True)
        self._args, self._site, self._dice = args, site, random.Random(args.seed)
        self._faults, self._book = [], Book()

    def run(self):
        """What broke."""
        self._site.start()
        self._blows = Blows(self._args, self._dice, self._site, AWAY_SECONDS)
        for number in self._blows.rounds:
            if not self._faults:
                self._round(number)
        if not self._faults:
            self._judge()
        print(f"{self._blows}; requests without an id and without an answer: {self._book.unanswered()}")
        return self._faults

    def _round(self, number):
        callers = [
            Caller(f"{number}-{n}", self._args.seed, number, self._site, self._book, self._faults) for n in range(CALLERS)
        ]
        for caller in callers:
            caller.start()
        self._go_on()
        blow = self._blows.strike(number)
        recovered = self._site.wait_until_ready()
        self._go_on()
        for caller in callers:
            caller.end()
        print(
            f"round {number:3}: {blow}, all ready {recovered:.2f} s later: "
            f"{self._book.answered()} answers, {self._book.repeats()} after a repetition, {len(self._faults)} faults",
            flush=True,
        )

    def _go_on(self):
        """Until so many requests more are answered."""
        enough = self._book.answered() + self._dice.randint(*ANSWERS_A_ROUND)
        reached = came(lambda: self._faults or self._book.answered() >= enough)
        if not reached:
            self._faults.append(("load", f"only {self._book.answered()} of {enough} requests are answered"))

    def _judge(self):
        began = time.monotonic()
        until("all events are published", lambda: self._site.unpublished() == 0, every=0.2)
        for gateway in self._site.gateways:
            values = {counter: read_values(gateway, counter, keys) for counter, keys in self._book.keys().items()}
            self._faults.extend(judge(self._book, values, events_of(self._site.gateways, self._faults)))
        if self._book.repeats() == 0:
            self._faults.append(("load", "no kill left a request to be repeated"))
        print(f"judged after {time.monotonic() - began:.2f} s, {len(self._faults)} faults", flush=True)


if __name__ == "__main__":
    main()
