"""What was asked and answered of each content, and what its total may be therefore."""

import json
import threading
from collections import defaultdict

from auditor.journal import wall_ms


class Book:
    """A view that was answered counts. One that was asked and never answered may count, or not.

    Each line of the journal is written before the request leaves, or when its answer is there:
    ["asked", oid, view, ms] or ["answered", oid, view, ms].
    """

    def __init__(self, journal):
        self._lock = threading.Lock()
        self._journal = open(journal, "a", encoding="utf-8")
        self._asked, self._answered = defaultdict(set), defaultdict(set)

    def asked(self, oid, view):
        """`view`: the same for all attempts that may count once only."""
        with self._lock:
            self._write("asked", oid, view)
            self._asked[oid].add(view)

    def answered(self, oid, view):
        with self._lock:
            self._write("answered", oid, view)
            self._answered[oid].add(view)

    def least(self, oid):
        """Views that are counted for sure by now."""
        with self._lock:
            return len(self._answered[oid])

    def most(self, oid):
        """Views that may be counted by now."""
        with self._lock:
            return len(self._asked[oid])

    def unanswered(self):
        with self._lock:
            return sum(len(self._asked[oid]) - len(self._answered[oid]) for oid in self._asked)

    def all_answered(self):
        with self._lock:
            return sum(map(len, self._answered.values()))

    def contents(self):
        with self._lock:
            return sorted(self._asked)

    def _write(self, what, oid, view):
        self._journal.write(json.dumps([what, oid, view, wall_ms()]) + "\n")
        self._journal.flush()
