"""What a loader did and saw, in its order: one JSON line per event, on disk before the frame leaves.

    ["open", mid, connection, [device, welcome, dialed], ms]
    ["sent", mid, connection, frame, ms]    ["got", mid, connection, frame, ms]
    ["closed", mid, connection, code, ms]   (1006: it just broke)
    ["dropped", mid, connection, null, ms]  (by the loader itself)

`ms` is the machine's clock, and `dialed` what it said when the connection was begun.
"""

import json
import time


class Journal:
    """Written by one loader. A flush is enough: only the gateway is killed, never the loader."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")

    def open(self, mid, connection, device, welcome, dialed):
        self._line("open", mid, connection, json.dumps([device, welcome, dialed]))

    def sent(self, mid, connection, text):
        self._line("sent", mid, connection, text)

    def got(self, mid, connection, text):
        self._line("got", mid, connection, text)

    def closed(self, mid, connection, code):
        self._line("closed", mid, connection, code)

    def dropped(self, mid, connection):
        self._line("dropped", mid, connection, "null")

    def _line(self, event, mid, connection, what):
        self._file.write(f'["{event}",{mid},{connection},{what},{wall_ms()}]\n')
        self._file.flush()


def wall_ms():
    return time.time_ns() // 1_000_000


class Tail:
    """The events that came since the last look, read by the auditor."""

    def __init__(self, path):
        self._file = open(path, encoding="utf-8")

    def events(self):
        for line in self._file:
            if not line.endswith("\n"):
                raise RuntimeError("the journal ends within a line, although its loader is parked")
            yield json.loads(line)
