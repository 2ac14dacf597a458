"""One user with one to three devices: what they watch, forget and switch off. No I/O."""

import random

from auditor.playback import DAY, Playback

# The same few contents for all users: a record of another user would show at once.
CONTENTS = [(kind, oid) for kind in (1, 2, 3) for oid in range(1, 13)]
CONTENTS_PER_USER = 14
SWITCHES_MAX = 40  # well below the 128 beyond which the gateway may merge intervals
BEATS_MAX = 24
REMEMBERED_MAX = 200
STEADY_CHANCE = 0.9  # of going on with one content, for a steady device
# A device that was offline sends a trail of one session, within what a slot may span: some pauses begin in the midst of it.
TRAIL_MS_MAX = 60_000
TRAIL_BEATS_MAX = 40


class Viewer:
    """`steady`: its devices mostly play one content on, a beat a frame."""

    def __init__(self, mid, seed, steady=False):
        self.mid = mid
        self.steady = steady
        self.dice = random.Random(f"{seed}/{mid}")
        self.contents = self.dice.sample(CONTENTS, CONTENTS_PER_USER)
        self.devices = [Habits(self, f"device-{n}") for n in range(self.dice.choice((1, 1, 2, 3)))]
        self._switches = 0
        self._switched_at = 0
        self._paused = False

    def switch(self, now):
        """Recording off, now or as of some moments ago, and on again soon after; None once there were enough switches."""
        if not self._paused and self._switches + 2 > SWITCHES_MAX:
            return None
        self._switches += 1
        self._paused = not self._paused
        late = self.dice.randrange(TRAIL_MS_MAX) if self._paused and self.dice.random() < 0.5 else 0
        self._switched_at = max(now - late, self._switched_at + 1)
        return {"recording": {"paused": self._paused, "at": self._switched_at}}

    @property
    def paused(self):
        return self._paused


class Habits:
    """What one device sends next. `now` is the server's clock as the device knows it."""

    def __init__(self, viewer, device):
        self.viewer, self.device, self.dice = viewer, device, viewer.dice
        self._playbacks = {}
        self._remembered = []  # beats sent before: resent for no reason, and `at`s to forget up to
        self._held_back = []  # made now, sent later than newer ones
        self._content = None  # what a steady device plays

    def next(self, now):
        """The next operation, as the frame has it (without its `seq`)."""
        if self.viewer.paused and self.dice.random() < 0.3:
            return self.viewer.switch(now)
        if self.viewer.steady and self.dice.random() < STEADY_CHANCE:
            return {"beats": {"items": [self._next_of_one(now)]}}
        chance = self.dice.random()
        if chance < 0.80 or not self._remembered:
            return {"beats": {"items": self._beats(now)}}
        if chance < 0.88:
            return {"get": {"items": [_item(c) for c in self.viewer.contents]}}
        if chance < 0.94:
            return {"list": {"limit": self.dice.choice((3, 5, 50))}}
        if chance < 0.985:
            contents = self.dice.sample(self.viewer.contents, self.dice.randrange(1, 4))
            return {"delete": {"items": [_item(c) for c in contents], "at": self._forget_up_to(now)}}
        if chance < 0.988:
            return {"clear": {"at": self._forget_up_to(now)}}
        return self.viewer.switch(now) or self.next(now)

    def _next_of_one(self, now):
        if self._content is None or self.dice.random() < 0.05:
            self._content = self.dice.choice(self.viewer.contents)
        return self._beat(now, self._content)

    def _beats(self, now):
        beats = [self._beat(now) for _ in range(self.dice.randrange(1, BEATS_MAX))]
        if self.dice.random() < 0.1:
            beats += self._trail(now)
        self._remembered += beats
        del self._remembered[:-REMEMBERED_MAX]
        if self.dice.random() < 0.2:
            beats += self.dice.sample(self._remembered, min(5, len(self._remembered)))
        if self.dice.random() < 0.2:
            self.dice.shuffle(beats)
        if self.dice.random() < 0.2:
            self._held_back, beats = self._held_back + beats[1:4], beats[:1] + beats[4:]
        elif self.dice.random() < 0.3:
            beats, self._held_back = beats + self._held_back, []
        return beats

    def _beat(self, now, content=None):
        content = content or self.dice.choice(self.viewer.contents)
        playback = self._playbacks.get(content)
        if playback is None or self.dice.random() < 0.03:
            behind = self.dice.choice((0, 0, 0, self.dice.randrange(60_000), self.dice.randrange(40 * DAY)))
            playback = self._playbacks[content] = Playback(*content, self.dice, behind)
        return playback.nonsense(now) if self.dice.random() < 0.01 else playback.beat(now)

    def _trail(self, now):
        content = self.dice.choice(self.viewer.contents)
        playback = self._playbacks[content] = Playback(*content, self.dice)
        ages = self.dice.sample(range(TRAIL_MS_MAX), self.dice.randrange(2, TRAIL_BEATS_MAX))
        return [playback.beat(now - age) for age in sorted(ages, reverse=True)]

    def _forget_up_to(self, now):
        """Now, or the very `at` of some beat, or a millisecond beside it: the edges are where it goes wrong."""
        some = self.dice.choice(self._remembered)["at"]
        return min(now, self.dice.choice((now, some, some, some - 1, some + 1)))


def _item(content):
    return {"kind": content[0], "oid": str(content[1])}
