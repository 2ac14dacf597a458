"""What a loader did and saw, in its order: one JSON line per event, on disk before the frame leaves.

    ["open", mid, connection, device]    ["sent", mid, connection, frame]
    ["got", mid, connection, frame]      ["closed", mid, connection, code]    (1006: it just broke)
    ["dropped", mid, connection, null]   (by the loader itself)
"""

import json


class Journal:
    """Written by one loader. A flush is enough: only the gateway is killed, never the loader."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")

    def open(self, mid, connection, device):
        self._line(f'["open",{mid},{connection},{json.dumps(device)}]\n')

    def sent(self, mid, connection, text):
        self._line(f'["sent",{mid},{connection},{text}]\n')

    def got(self, mid, connection, text):
        self._line(f'["got",{mid},{connection},{text}]\n')

    def closed(self, mid, connection, code):
        self._line(f'["closed",{mid},{connection},{code}]\n')

    def dropped(self, mid, connection):
        self._line(f'["dropped",{mid},{connection},null]\n')

    def _line(self, line):
        self._file.write(line)
        self._file.flush()


class Tail:
    """The events that came since the last look, read by the auditor."""

    def __init__(self, path):
        self._file = open(path, encoding="utf-8")

    def events(self):
        for line in self._file:
            if not line.endswith("\n"):
                raise RuntimeError("the journal ends within a line, although its loader is parked")
            yield json.loads(line)
