"""Joins all journals: one ledger per user, one connection per socket, and the figures of each round."""

from dataclasses import dataclass, fields

from auditor.connection import Connection
from auditor.journal import Tail
from auditor.ledger import Ledger


@dataclass
class Figures:
    sockets: int = 0
    sent: int = 0
    acked: int = 0
    rejected: int = 0  # of the acked
    rewards: int = 0
    excused: int = 0  # of the acked: a newer beat of their slot may have fallen into a pause
    in_flight: int = 0

    def __str__(self):
        return (
            f"{self.sockets} sockets, {self.sent} beats sent, {self.acked} acked "
            f"({self.rejected} rejected, {self.excused} excused), {self.rewards} rewards, {self.in_flight} in flight"
        )


class Judge:
    def __init__(self, journals, goodbyes=False):
        self._tails = [Tail(path) for path in journals]
        self._ledgers = {}
        self._lately = set()
        self._rounds = []
        self.goodbyes = goodbyes
        self.faults = []

    def read_journals(self):
        """Takes in what the loaders noted since the last look; the figures of that round."""
        figures = Figures()
        self._rounds.append(figures)
        self._lately.clear()
        for tail in self._tails:
            self._read(tail, figures)
        return figures

    def _read(self, tail, figures):
        connections = {}
        for event, mid, number, what, ms in tail.events():
            ledger = self._ledgers.setdefault(mid, Ledger(mid, self.faults))
            self._lately.add(mid)
            ledger.moment += 1
            ledger.now = ms
            if event == "open":
                device, welcome, dialed = what
                ledger.rewards.welcomed(welcome, dialed, ms)
                connections[number] = Connection(ledger, device, figures, self.goodbyes)
                figures.sockets += 1
            elif event == "sent":
                connections[number].sent(what)
            elif event == "got":
                connections[number].got(what)
            elif event == "dropped":
                del connections[number]
            else:
                figures.in_flight += connections.pop(number).closed(what)
        if connections:
            raise RuntimeError("a loader parked with open connections")

    def ledgers(self):
        return list(self._ledgers.values())

    def by_user(self):
        return self._ledgers

    def lately(self):
        """The ledgers of those who played before the last look."""
        return [self._ledgers[mid] for mid in sorted(self._lately)]

    def lost(self):
        return sum(promise == "I1" for promise, _ in self.faults)

    def totals(self):
        sums = {f.name: sum(getattr(r, f.name) for r in self._rounds) for f in fields(Figures)}
        return Figures(**sums)
