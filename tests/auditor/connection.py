"""The frames of one connection, as its journal has them, turned into what the ledger knows.

`ack.seq` is cumulative, and a rejection never comes after an ack that covers it. What is acked and not rejected was
stored, itself or a newer beat of its slot (one connection, content and session).
"""

from collections import deque

from auditor.ledger import content_of, key_of

BROKEN = 1006
GOING_AWAY = 1012
RATE_MAX = 16


class BeatsFrame:
    def __init__(self, seq, items, moment):
        self.seq, self.items, self.moment = seq, items, moment
        self.rejected = {}  # index -> reason


class Listing:
    """One pass over all pages."""

    def __init__(self, floor):
        self.floor, self.seen, self.last = floor, set(), None


class Connection:
    """`goodbyes`: whether the gateway may end it with `bye` and 1012 rather than without a word."""

    def __init__(self, ledger, device, totals, goodbyes):
        self.ledger, self.device, self.totals = ledger, device, totals
        self._goodbyes, self._bye = goodbyes, False
        self.unacked = deque()
        self._last_sent = self._last_acked = 0
        self._asked = {}  # seq -> what to do with its result
        self._listing = None

    def sent(self, frame):
        seq = self._last_sent = frame["seq"]
        if "beats" in frame:
            self._beats_sent(seq, frame["beats"]["items"])
        elif "delete" in frame:
            contents, at = [content_of(i) for i in frame["delete"]["items"]], frame["delete"]["at"]
            for content in contents:
                self.ledger.deletion_sent(content, at)
            self._asked[seq] = lambda _: [self.ledger.deletion_committed(c, at) for c in contents]
        elif "clear" in frame:
            at = frame["clear"]["at"]
            self.ledger.clear_sent(at)
            self._asked[seq] = lambda _: self.ledger.clear_committed(at)
        elif "recording" in frame:
            asked = frame["recording"]
            switch = self.ledger.pauses.sent(asked["at"], asked["paused"], self.ledger.moment)
            self._asked[seq] = lambda _: self._switched(switch)
        elif "get" in frame:
            contents, floor = [content_of(i) for i in frame["get"]["items"]], self.ledger.floor()
            self._asked[seq] = lambda result: self._got_records(contents, floor, result["records"])
        elif "list" in frame:
            if "cursor" not in frame["list"]:
                self._listing = Listing(self.ledger.floor())
            self._asked[seq] = self._listed

    def got(self, frame):
        if "ack" in frame:
            self._acked(frame["ack"])
        elif "result" in frame:
            self._asked.pop(frame["result"]["seq"])(frame["result"])
        elif "push" in frame:
            self._pushed(frame["push"])
        elif "reward" in frame:
            self.totals.rewards += 1
            self.ledger.rewards.rewarded(frame["reward"])
        elif "error" in frame:
            error = frame["error"]
            if self._asked.pop(error.get("seq"), None) is None or error["code"] != "unavailable":
                self.ledger.fault("protocol", f"an honest frame was answered {error}")
        elif "bye" in frame and self._goodbyes and not self._bye:
            self._bye = True
        else:
            self.ledger.fault("protocol", f"unexpected frame {frame}")

    def closed(self, code):
        if code != BROKEN and not (self._bye and code == GOING_AWAY):
            self.ledger.fault("protocol", f"the gateway closed with {code}")

    def in_flight(self):
        """The number of beats without an answer."""
        return sum(len(frame.items) for frame in self.unacked)

    def waits(self):
        """Whether anything is without an answer."""
        return bool(self.unacked or self._asked)

    def _beats_sent(self, seq, items):
        for beat in items:
            self.ledger.beat_sent(beat, self.device)
        self.unacked.append(BeatsFrame(seq, items, self.ledger.moment))
        self.totals.sent += len(items)

    def _acked(self, ack):
        if not self._last_acked <= ack["seq"] <= self._last_sent:
            self.ledger.fault("protocol", f"ack {ack['seq']} after {self._last_acked}, sent up to {self._last_sent}")
        self._last_acked = ack["seq"]
        if "flag" in ack:
            self.ledger.rewards.flagged(ack["flag"], self.ledger.now)
        by_seq = {frame.seq: frame for frame in self.unacked}
        for rejection in ack.get("rejected", ()):
            frame = by_seq.get(rejection["seq"])
            if frame is None or rejection["index"] in frame.rejected:
                self.ledger.fault("protocol", f"rejected after its ack, or twice: {rejection}")
                continue
            frame.rejected[rejection["index"]] = rejection["reason"]
            self.totals.rejected += 1
            self._rejected(frame, frame.items[rejection["index"]], rejection)
        while self.unacked and self.unacked[0].seq <= ack["seq"]:
            self._answered(self.unacked.popleft())

    def _answered(self, frame):
        for index, beat in enumerate(frame.items):
            self.totals.acked += 1
            if index in frame.rejected:
                continue
            self.totals.accepted += 1
            if reason := _refused_alone(beat):
                self.ledger.fault("protocol", f"{beat} was accepted, should be {reason}")
            else:
                self.ledger.acked(content_of(beat), key_of(beat))

    def _rejected(self, frame, beat, rejection):
        content, key, reason = content_of(beat), key_of(beat), rejection["reason"]
        if reason == "superseded":
            newer = self.ledger.content(content).newest_sent > key
            if not newer and self.ledger.forgotten_maybe(content) < key[0]:
                self.ledger.fault("rule", f"{beat} superseded by nothing that was sent")
        elif reason == "not_recording":
            if not self.ledger.pauses.possible(key[0], frame.moment):
                self.ledger.fault("rule", f"{beat} refused, but recording was not paused then")
        elif reason != _refused_alone(beat):
            self.ledger.fault("rule", f"{beat} rejected: {rejection}")
        if record := rejection.get("record"):
            known = self.ledger.shown(record, "rejection")
            if known and (known[0] != content or known[1] <= key):
                self.ledger.fault("rule", f"{beat} superseded by the older {record}")
            elif known:
                self.ledger.committed(*known)

    def _switched(self, switch):
        if switch.done is None:
            switch.done = self.ledger.moment

    def _got_records(self, contents, floor, records):
        if len(contents) != len(records):
            return self.ledger.fault("protocol", f"asked for {len(contents)} records, got {len(records)}")
        for content, record in zip(contents, records):
            self.ledger.judge(content, record, floor, "get")

    def _listed(self, result):
        listing = self._listing
        for record in result["records"]:
            content = content_of(record)
            if content in listing.seen:
                self.ledger.fault("list", f"{content} came twice in one pass")
            if listing.last is not None and record["at"] > listing.last:
                self.ledger.fault("list", f"{content} at {record['at']} after {listing.last}: not newest first")
            listing.seen.add(content)
            listing.last = record["at"]
            self.ledger.judge(content, record, listing.floor, "list")
        if "cursor" not in result:
            for content in listing.floor.stored.keys() - listing.seen:
                self.ledger.judge_absence(content, listing.floor, "list")

    def _pushed(self, push):
        if "record" in push:
            if known := self.ledger.shown(push["record"], "push"):
                self.ledger.committed(*known)
        elif "deleted" in push:
            for item in push["deleted"]:
                self.ledger.deletion_committed(content_of(item), push["at"])
        elif "cleared" in push:
            self.ledger.clear_committed(push["at"])
        elif "flag" in push:
            self.ledger.rewards.flagged(push["flag"], self.ledger.now)


def _refused_alone(beat):
    """What the first step of the rule says to the beats the loader makes wrong on purpose."""
    if beat.get("rate", 1.0) > RATE_MAX:
        return "invalid"
    if not beat["watched"]:
        return "not_started"
    return None
