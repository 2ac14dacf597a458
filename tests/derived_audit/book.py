"""What clients were about to do, and what was answered."""

import json
import threading
from collections import Counter

from auditor.journal import wall_ms


class Book:
    """Each line of the journal is written before the request leaves, or when its answer is there:
    ["asked", ms, mid, operation] or ["answered", ms, mid, operation]. An operation is asked again until it is answered."""

    def __init__(self, journal):
        self._lock = threading.Lock()
        self._journal = open(journal, "a", encoding="utf-8")
        self._counts = Counter()
        self.users = set()

    def asks(self, mid, operation, again=False):
        with self._lock:
            self._write("asked", mid, operation)
            self.users.add(mid)
            self._counts["again"] += again

    def answered(self, mid, operation):
        with self._lock:
            self._write("answered", mid, operation)
            self._counts["answered"] += 1
            self._counts[next(iter(operation))] += 1

    def count(self, what="answered"):
        with self._lock:
            return self._counts[what]

    def _write(self, what, mid, operation):
        self._journal.write(json.dumps([what, wall_ms(), mid, operation]) + "\n")
        self._journal.flush()
