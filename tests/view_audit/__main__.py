"""`python -m view_audit BINARY`: views by request and by playback, while what counts them is killed under load.

In each round a gateway, the other one, Redis, a server of the statistics store, or Redis together with it are killed with
SIGKILL and started again. Then a night: the statistics store is away for longer, and every request is answered. When all
sums are carried, every total and every day equals the views that were answered. Exit code 1 if a promise broke.
"""

import random
import time
from collections import Counter
from functools import partial

from tiers.blows import Blows
from tiers.counting_fleet import STATISTICS
from tiers.freezes import add_frozen_options
from tiers.kill_audit import kill_audit_parser, run_kill_audit
from view_audit.book import Book
from view_audit.fleet import ViewFleet
from view_audit.pages import KIND as BY_REQUEST
from view_audit.pages import Page
from view_audit.players import FIRST_OID, KIND, Players
from wire.http import call
from wire.patience import came, until

PAGES, PLAYERS = 12, 20
# Views that are answered before something is killed, and when it is back.
VIEWS_A_ROUND = (300, 3_000)
# What Redis may take more after a night: the contents and marks of this load are some megabytes.
NIGHT_BYTES_MAX = 64 << 20


def main():
    parser = kill_audit_parser("view_audit", __doc__, rounds=5)
    add_frozen_options(parser)
    parser.add_argument("--night", type=float, default=10, help="seconds that the store is away")
    parser.add_argument("--statistics", choices=STATISTICS, default="mongodb", help="what keeps views and counters")
    args = parser.parse_args()
    site_of = partial(ViewFleet, statistics=args.statistics)
    run_kill_audit(args, site_of, lambda scratch, fleet: ViewAudit(args, scratch, fleet).run())


class ViewAudit:
    def __init__(self, args, scratch, fleet):
        print(f"seed {args.seed}, {PAGES} pages and {PLAYERS} players on {args.statistics}, {args.rounds} rounds", flush=True)
        self._args, self._fleet, self._dice = args, fleet, random.Random(args.seed)
        self._faults, self._book = [], Book(scratch / "journal")
        self._answers = Counter()

    def run(self):
        """What broke."""
        self._fleet.start()
        self._blows = Blows(self._args, self._dice, self._fleet)
        for number in self._blows.rounds:
            if not self._faults:
                self._round(number)
        if not self._faults:
            self._night()
        print(f"{self._blows}; answers: {sorted(self._answers.items())}")
        self._expect(self._book.unanswered() > 0 or not self._args.rounds, "load", "no kill left a view unanswered")
        return self._faults

    def _round(self, number):
        with self._load(f"{self._args.seed} {number}"):
            self._play_on()
            blow = self._blows.strike(number)
            recovered = self._fleet.wait_until_ready()
            self._play_on()
        drained = self._drain()
        print(
            f"round {number:3}: {blow}, all ready {recovered:.2f} s later, drained in "
            f"{drained:.2f} s: {self._book.all_answered()} views answered, {self._book.unanswered()} not, "
            f"{len(self._faults)} faults",
            flush=True,
        )

    def _night(self):
        """Without the statistics store, each view and each total is answered; days are not."""
        before = self._fleet.redis_bytes()
        load = self._load(f"{self._args.seed} night")
        with load:
            self._play_on()
            self._fleet.statistics.kill()
            time.sleep(self._args.night)
            for gateway in self._fleet.gateways:
                days = call(gateway.http, "GET", f"/v1/views/{BY_REQUEST}/1/days", mid=1).status
                self._expect(days == 503, "night", f"days are answered {days} without the statistics store")
            grown = self._fleet.redis_bytes() - before
            refused = {key: count for key, count in load.answers().items() if key[0] != "days" and key[1] != 200}
            self._fleet.statistics.start()
        self._expect(not refused, "night", f"without the statistics store, requests are refused: {refused}")
        self._expect(grown < NIGHT_BYTES_MAX, "night", f"Redis has grown by {grown} bytes")
        drained = self._drain()
        print(
            f"night of {self._args.night:.0f} s: {sum(load.answers().values())} requests, Redis grew by "
            f"{grown / (1 << 20):.1f} MiB, drained in {drained:.2f} s, {len(self._faults)} faults",
            flush=True,
        )

    def _load(self, seed):
        return Load(seed, self._fleet, self._book, self._faults, self._answers)

    def _play_on(self):
        """Until so many views more are answered."""
        enough = self._book.all_answered() + self._dice.randint(*VIEWS_A_ROUND)
        reached = came(lambda: self._faults or self._book.all_answered() >= enough)
        self._expect(reached, "load", f"only {self._book.all_answered()} of {enough} views are answered")

    def _drain(self):
        """Seconds until all sums are in the statistics store; then all numbers are compared."""
        began = time.monotonic()
        until("the sums in the statistics store", lambda: not self._fleet.pending(), every=0.1)
        drained = time.monotonic() - began
        for gateway in self._fleet.gateways:
            self._compare(gateway)
        return drained

    def _compare(self, gateway):
        contents = [(KIND if oid >= FIRST_OID else BY_REQUEST, oid) for oid in self._book.contents()]
        items = [{"kind": kind, "oid": str(oid)} for kind, oid in contents]
        totals = call(gateway.http, "POST", "/v1/views/get", mid=1, body={"items": items}).json()["views"]
        for (kind, oid), total in zip(contents, totals, strict=True):
            least, most = self._book.least(oid), self._book.most(oid)
            days = call(gateway.http, "GET", f"/v1/views/{kind}/{oid}/days", mid=1).json()
            by_day = sum(day["views"] for day in days["days"])
            text = f"{kind}/{oid} has {total} views, {by_day} by day, and {days}; {least} were answered, {most} asked"
            self._expect(total == by_day == days["total"] and least <= total <= most, "views", text)

    def _expect(self, holds, promise, text):
        if not holds:
            self._faults.append((promise, text))


class Load:
    """Pages and players, from `with` to its end."""

    def __init__(self, seed, fleet, book, faults, answers):
        self._pages = [Page(f"{seed} {number}", seed, fleet, book, faults) for number in range(PAGES)]
        self._players = Players(PLAYERS, seed, fleet, book, faults)
        self._all_answers = answers

    def __enter__(self):
        for thread in [*self._pages, self._players]:
            thread.start()

    def __exit__(self, *_):
        for thread in [*self._pages, self._players]:
            thread.end()
        self._all_answers.update(self.answers())

    def answers(self):
        """How many, by operation and status."""
        return sum((page.answers for page in self._pages), Counter())


if __name__ == "__main__":
    main()
