"""What must be stored of one user, reckoned from what was answered. Nothing of it depends on the order of beats.

Everything was sent until it was answered, and repeating it changes nothing. So what must be stored is known exactly,
but for one number: an erasure happens at a moment of the gateway's clock between its request and its answer.
"""

from collections import namedtuple
from dataclasses import dataclass, field

STATES = {"playing": 1, "paused": 2, "seeked": 3, "ended": 4}

Record = namedtuple("Record", "at session pos dur state device watched")
# What is read of a content; either may be missing.
Row = namedtuple("Row", "record tombstone")


@dataclass
class Known:
    """Of one user. `least` and `most`: where the watermark is; 0 = never cleared."""

    least: int = 0
    most: int = 0
    switches: list = field(default_factory=list)  # (at, paused)
    rows: dict = field(default_factory=dict)  # (kind, oid) -> Row

    def as_of(self, watermark):
        """What is left above it, by content."""
        kept = {}
        for content, (record, tombstone) in self.rows.items():
            record = record if record and record.at > max(watermark, tombstone) else None
            tombstone = tombstone if tombstone > watermark else 0
            if record or tombstone:
                kept[content] = Row(record, tombstone)
        return kept


class Reckoning:
    def __init__(self):
        self.known = Known()

    def beat(self, beat, device):
        """Whether it is accepted: it is the record then, unless a newer one is."""
        if self.paused_at(beat["at"]):
            return False
        record, tombstone = self._row(content_of(beat))
        if beat["at"] <= max(tombstone, self.known.most):
            return False
        if record and (record.at, record.session) > (beat["at"], int(beat["session"])):
            return False
        state = STATES[beat["state"]]
        fields = beat["at"], int(beat["session"]), beat["pos"], beat["dur"], state, device, beat["watched"]
        self.known.rows[content_of(beat)] = Row(Record(*fields), tombstone)
        return True

    def delete(self, contents, at):
        for content in contents:
            record, tombstone = self._row(content)
            gone = record and record.at <= at
            self.known.rows[content] = Row(None if gone else record, max(tombstone, at))

    def clear(self, at):
        self._forget(at, at)

    def erase(self, least, most):
        """Within these two moments."""
        self.known.rows.clear()
        self.known.switches.clear()
        self._forget(least, most)

    def switch(self, at, paused):
        self.known.switches.append((at, paused))
        self.known.switches.sort()

    def paused_at(self, at):
        """Both ends of a pause belong to it."""
        before = [paused for moment, paused in self.known.switches if moment < at]
        now = [paused for moment, paused in self.known.switches if moment == at]
        return any(now) or (before[-1:] == [True])

    def _row(self, content):
        return self.known.rows.get(content, Row(None, 0))

    def _forget(self, least, most):
        known = self.known
        known.least, known.most = max(known.least, least), max(known.most, most)
        known.rows = known.as_of(known.least)


def content_of(item):
    return item["kind"], int(item["oid"])
