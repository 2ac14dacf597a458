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
    accepted: int = 0  # of the acked: these needed a commit
    rewards: int = 0
    in_flight: int = 0

    def __str__(self):
        return (
            f"{self.sockets} sockets, {self.sent} beats sent, {self.acked} acked "
            f"({self.rejected} rejected), {self.rewards} rewards, {self.in_flight} in flight"
        )


class Judge:
    def __init__(self, journals, goodbyes=False):
        self._tails = [Tail(path) for path in journals]
        self._ledgers = {}
        self._lately = set()
        self._rounds = []
        self.goodbyes = goodbyes
        self.faults = []
        self.ack_times = []  # of the last round: when acks came of what is committed, by the machine's clock

    def read_journals(self, killed=None):
        """Takes in what the loaders noted since the last look; the figures of that round. `killed`: the moment at which
        something was; without it, the kill was that of the only gateway, and ended the connections."""
        figures = Figures()
        self._rounds.append(figures)
        self._lately.clear()
        self.ack_times.clear()
        for tail in self._tails:
            self._read(tail, figures, killed)
        return figures

    def _read(self, tail, figures, killed):
        connections, counts_closed = {}, killed is None
        for event, mid, number, what, ms in tail.events():
            ledger = self._ledgers.setdefault(mid, Ledger(mid, self.faults))
            self._lately.add(mid)
            if killed and ms >= killed:
                figures.in_flight += sum(connection.in_flight() for connection in connections.values())
                killed = None
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
                before = figures.accepted
                connections[number].got(what)
                if figures.accepted > before:
                    self.ack_times.append(ms)
            else:
                gone = connections.pop(number)
                ledger.unsettled |= gone.waits()
                if event == "closed":
                    gone.closed(what)
                    figures.in_flight += gone.in_flight() if counts_closed else 0
        if connections:
            raise RuntimeError("a loader parked with open connections")

    def ledgers(self):
        return list(self._ledgers.values())

    def by_user(self):
        return self._ledgers

    def lately(self):
        """The ledgers of the users that played before the last look."""
        return [self._ledgers[mid] for mid in sorted(self._lately)]

    def lost(self):
        return sum(promise == "I1" for promise, _ in self.faults)

    def totals(self):
        sums = {f.name: sum(getattr(r, f.name) for r in self._rounds) for f in fields(Figures)}
        return Figures(**sums)
