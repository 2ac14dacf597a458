"""What one user does next: beats of several contents, now and then late ones, and what forgets them."""

import random
import time
from dataclasses import dataclass

from history.reckoning import Reckoning

CONTENTS = 16  # of each user
KINDS = (1, 2, 3, 65_535)
OID_MAX = 2**64 - 1
DUR = 5_400_000
DAY_MS = 86_400_000
# The clocks of a gateway and of this process are those of one machine.
CLOCKS_APART_MS = 50

LATE_CHANCE = 0.05
DELETE, CLEAR, SWITCH, ERASE = 0.35, 0.08, 0.08, 0.03
RESUME_CHANCE = 0.9
STATES = ("playing", "playing", "playing", "paused", "seeked", "ended")


@dataclass
class Step:
    """One operation. `name`: of its frame; `erase` goes to the control listener."""

    name: str
    body: dict
    accepted: tuple = ()  # of beats: those that must not be rejected, by index


class User:
    def __init__(self, mid, seed):
        self.mid, self.reckoning = mid, Reckoning()
        self.dice = random.Random(f"{seed} {mid}")
        self.contents = [(self.dice.choice(KINDS), self.dice.choice((n, OID_MAX - n))) for n in range(1, CONTENTS + 1)]
        self._last = 0
        self._is_paused = False

    def visit(self, frames, beats, changes=1.0):
        """The steps of one visit; all that they ask for is answered. `changes`: how often it forgets something."""
        device = f"tv-{self.dice.randrange(3)}"
        if self._is_paused:
            yield device, self._switch(False)
        for _ in range(frames):
            yield device, self.beats(beats, device)
            if self.dice.random() < changes * DELETE:
                yield device, self._delete()
            if self.dice.random() < changes * CLEAR:
                yield device, self._clear()
            if self.dice.random() < changes * SWITCH:
                yield device, self._switch(True)
                yield device, self.beats(beats, device)
                if self.dice.random() > RESUME_CHANCE:
                    return
                yield device, self._switch(False)
        if self.dice.random() < changes * ERASE:
            yield device, Step("erase", {"mid": str(self.mid)})
            yield device, self.beats(beats, device)

    def beats(self, count, device):
        """Of each content several if there are more beats than contents."""
        contents = self.dice.sample(self.contents, min(count, len(self.contents)))
        sessions = {content: str(self.dice.getrandbits(64)) for content in contents}
        items, newest = [], {}
        for n in range(count):
            content = contents[n % len(contents)]
            late = self.dice.random() < LATE_CHANCE
            at = self._past() if late else self._moment()
            item = _item(content) | {"session": sessions[content], "at": at, "state": self.dice.choice(STATES)}
            item |= {"pos": self.dice.randrange(DUR), "dur": DUR, "watched": self.dice.randrange(1, DUR)}
            items.append(item)
            if self.reckoning.beat(item, device):
                newest[content] = n
        return Step("beats", {"items": items}, tuple(newest.values()))

    def erased(self, began, ended):
        """It was asked for and answered at these moments of this process."""
        self._last = max(self._last, ended) + CLOCKS_APART_MS
        self.reckoning.erase(began - CLOCKS_APART_MS, self._last)
        self._is_paused = False

    def _delete(self):
        contents = self.dice.sample(self.contents, self.dice.randrange(1, 4))
        at = self._some_moment(contents[0])
        self.reckoning.delete(contents, at)
        return Step("delete", {"items": [_item(content) for content in contents], "at": at})

    def _clear(self):
        at = self._some_moment(self.dice.choice(self.contents))
        self.reckoning.clear(at)
        return Step("clear", {"at": at})

    def _switch(self, paused):
        at = self._moment()
        self._is_paused = paused
        self.reckoning.switch(at, paused)
        return Step("recording", {"paused": paused, "at": at})

    def _moment(self):
        """Now, and later than all before."""
        self._last = max(wall_ms(), self._last + 1)
        return self._last

    def _past(self):
        """Some days ago, but never while an erasure may have happened or not."""
        at = wall_ms() - self.dice.randrange(DAY_MS, 30 * DAY_MS)
        known = self.reckoning.known
        return at if not known.least < at <= known.most else known.least

    def _some_moment(self, content):
        """Now, or the moment of a record, or a millisecond beside it: the edges are where it goes wrong."""
        now, row = self._moment(), self.reckoning.known.rows.get(content)
        if not row or not row.record or self.dice.random() < 0.5:
            return now
        return row.record.at + self.dice.choice((-1, 0, 1))


def wall_ms():
    return time.time_ns() // 1_000_000


def _item(content):
    return {"kind": content[0], "oid": str(content[1])}
