"""All that is known from outside of one user: what was sent, what must be stored, what may be forgotten.

The judgement is the design's rule turned round. Of the beats that were answered and not rejected the newest by
(at, session) must be read, itself or a newer one, unless a forgetting that was at least sent covers it; what is read
must have been sent, by this user; and nothing is read that a forgetting, known before the read began, covers.
"""

from collections import namedtuple
from dataclasses import dataclass, field

from auditor.entitlement import Entitlement
from auditor.pauses import Pauses

NEVER = -1
# A position that is further beyond the end of its content says that the length is wrong.
BEYOND_END_MS_MAX = 60_000


@dataclass
class Content:
    sent: dict = field(default_factory=dict)  # (at, session) -> Sent
    newest_sent: tuple = (NEVER, 0)
    stored: tuple | None = None  # the newest (at, session) known to have been committed
    deleted: int = NEVER  # the newest deletion known to be committed
    deleted_maybe: int = NEVER  # the newest deletion sent


Fields = namedtuple("Fields", "pos dur state watched device")


@dataclass(slots=True)
class Sent:
    fields: Fields
    moment: int  # of the first copy


@dataclass(frozen=True)
class Floor:
    """What a read that begins now must at least show."""

    stored: dict
    forgotten: dict


def content_of(item):
    return item["kind"], int(item["oid"])


def key_of(item):
    return item["at"], int(item["session"])


class Ledger:
    def __init__(self, mid, faults):
        self.mid = mid
        self.moment = 0
        self.now = 0  # the machine's clock at what is being judged
        self.unsettled = False  # whether something may still be committed that was not answered
        self.contents = {}
        self.cleared = self.cleared_maybe = NEVER
        self.pauses = Pauses()
        self.rewards = Entitlement(mid, self.fault)
        self._faults = faults

    def fault(self, promise, text):
        self._faults.append((promise, f"user {self.mid}: {text}"))

    def content(self, content):
        return self.contents.setdefault(content, Content())

    def beat_sent(self, beat, device):
        content, key = self.content(content_of(beat)), key_of(beat)
        if key not in content.sent:
            content.sent[key] = Sent(_fields(beat, device), self.moment)
            content.newest_sent = max(content.newest_sent, key)

    def acked(self, content, key):
        """It, or a newer one of its slot, was stored, unless a forgetting has come before."""
        self._stored(content, key)
        if self.forgotten_maybe(content) < key[0]:
            self.rewards.written(content, key[0], self.now)

    def committed(self, content, key):
        """A record that was shown: this beat was stored."""
        self._stored(content, key)
        self.rewards.written(content, key[0], self.now)

    def _stored(self, content, key):
        entry = self.content(content)
        if entry.stored is None or key > entry.stored:
            entry.stored = key

    def deletion_sent(self, content, at):
        entry = self.content(content)
        entry.deleted_maybe = max(entry.deleted_maybe, at)

    def deletion_committed(self, content, at):
        entry = self.content(content)
        entry.deleted = max(entry.deleted, at)

    def clear_sent(self, at):
        self.cleared_maybe = max(self.cleared_maybe, at)

    def clear_committed(self, at):
        self.cleared = max(self.cleared, at)

    def forgotten(self, content):
        return max(self.content(content).deleted, self.cleared)

    def forgotten_maybe(self, content):
        return max(self.content(content).deleted_maybe, self.cleared_maybe)

    def floor(self):
        return Floor(
            {c: entry.stored for c, entry in self.contents.items() if entry.stored},
            {c: self.forgotten(c) for c in self.contents},
        )

    def shown(self, record, where):
        """A record that came over the wire, in whatever frame: its content and key, if it was ever sent."""
        content, key = content_of(record), key_of(record)
        sent = self.content(content).sent.get(key)
        if sent is None:
            return self.fault("I2", f"{where}: {record} was never sent")
        shown = _fields(record, record.get("device", ""))
        if sent.fields._replace(dur=shown.dur) != shown or not self._may_have_length(content, key, shown):
            return self.fault("I2", f"{where}: {content} shows {shown}, sent was {sent.fields}")
        if self.pauses.certain(key[0], sent.moment):
            return self.fault("recording", f"{where}: {record} was made while recording was paused")
        return content, key

    def _may_have_length(self, content, key, shown):
        """A beat that knows no length keeps the one of the record before it, which may be any older one."""
        sent = self.content(content).sent
        if own := _length(shown.pos, sent[key].fields.dur):
            return shown.dur == own
        known = {before.fields.dur for at, before in sent.items() if at < key}
        return shown.dur == 0 or (shown.dur in known and _length(shown.pos, shown.dur) > 0)

    def judge(self, content, record, floor, where):
        """One answer of a read that began at `floor`; `record` is None where nothing is known."""
        key = None
        if record is not None:
            known = self.shown(record, where)
            if known is None:
                return
            if known[0] != content:
                return self.fault("I2", f"{where}: asked for {content}, got {record}")
            key = known[1]
            if key[0] <= (forgotten := floor.forgotten.get(content, NEVER)):
                return self.fault("forgetting", f"{where}: {record} is back, forgotten up to {forgotten}")
        least = floor.stored.get(content)
        if least and least[0] > self.forgotten_maybe(content) and (key is None or key < least):
            return self.fault("I1", f"{where}: {content} shows {key}, but {least} was committed before")
        if key:
            self.committed(content, key)

    def judge_absence(self, content, floor, where):
        """A content that a whole list did not name. One that a newer beat may have moved meanwhile may be missed."""
        least = floor.stored.get(content)
        if least and self.content(content).newest_sent <= least:
            self.judge(content, None, floor, where)


def _length(pos, dur):
    """0: unknown."""
    return dur if pos <= dur + BEYOND_END_MS_MAX else 0


def _fields(item, device):
    return Fields(item["pos"], item.get("dur", 0), item["state"], item.get("watched", 0), device)
