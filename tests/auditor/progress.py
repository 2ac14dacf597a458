"""How far the load has come: tests wait for that, and never for seconds, which are worth little on a busy machine."""

import re
from collections import defaultdict, deque

from wire.patience import came

LOOK_EVERY_SECONDS = 0.005

_BEATS = re.compile(rb'\["sent",\d+,(\d+),\{"seq":(\d+),"beats"')
_END = re.compile(rb'\["(?:closed|dropped)",\d+,(\d+),')
_ACK = re.compile(rb'\["got",\d+,(\d+),\{"ack":\{"seq":(\d+)')


class Progress:
    """The frames with beats that were sent since the last `begin` and then acked, by what the journals grew by."""

    def __init__(self, journals):
        self._journals = [_Growing(path) for path in journals]
        self._acked = 0

    def begin(self):
        """Counts from here on. What was sent before does not count, whenever it is acked: so an ack that was on its way
        when something was killed does not show that others go on without it."""
        self._acked = 0
        for journal in self._journals:
            journal.skip()

    def acked(self):
        self._acked += sum(journal.acked() for journal in self._journals)
        return self._acked

    def waits(self):
        """Whether any client waits for an ack."""
        self.acked()
        return any(journal.waits() for journal in self._journals)

    def all_answered(self):
        """Waits until every frame that waits now was acked, or its connection has ended; False when one never is."""
        self.acked()
        asked = [journal.unanswered() for journal in self._journals]

        def are_answered():
            self.acked()
            return all(journal.has_answered(frames) for journal, frames in zip(self._journals, asked))

        return came(are_answered, every=LOOK_EVERY_SECONDS)

    def reaches(self, acks, goes_on=lambda: True):
        """Waits until there are so many; False when it does not go on, or none has come within all patience."""
        while (before := self.acked()) < acks:
            if not came(lambda: self.acked() > before or not goes_on(), every=LOOK_EVERY_SECONDS) or not goes_on():
                return False
        return True


class _Growing:
    """One journal. A line is on disk before its frame is sent."""

    def __init__(self, path):
        self._file = open(path, "rb")
        self.skip()

    def skip(self):
        self._file.seek(0, 2)
        self._rest = b""
        self._unacked = defaultdict(deque)  # by connection: the numbers of frames

    def acked(self):
        """Frames that were acked since the last look."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        return sum(self._take(line) for line in lines)

    def waits(self):
        return any(self._unacked.values())

    def unanswered(self):
        """By connection, the newest frame that waits."""
        return {connection: unacked[-1] for connection, unacked in self._unacked.items() if unacked}

    def has_answered(self, frames):
        waiting = ((self._unacked.get(connection), frame) for connection, frame in frames.items())
        return all(not unacked or unacked[0] > frame for unacked, frame in waiting)

    def _take(self, line):
        if sent := _BEATS.match(line):
            self._unacked[sent[1]].append(int(sent[2]))
        elif ack := _ACK.match(line):
            unacked, before = self._unacked[ack[1]], len(self._unacked[ack[1]])
            while unacked and unacked[0] <= int(ack[2]):
                unacked.popleft()
            return before - len(unacked)
        elif end := _END.match(line):
            self._unacked.pop(end[1], None)
        return 0
