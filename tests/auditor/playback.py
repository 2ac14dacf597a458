"""One session as a player would report it, and the beats it makes on purpose wrong."""

import random
from dataclasses import dataclass, field

DAY = 86_400_000
DURATIONS = (0, 60_000, 300_000, 5_400_000)


@dataclass
class Playback:
    """Beats of one session of one content; `at` grows by at least one millisecond with each."""

    kind: int
    oid: int
    dice: random.Random
    behind: int = 0  # how long ago it was played: a device that comes back from a flight
    session: int = 0
    at: int = 0
    watched: int = 0
    dur: int = field(init=False)

    def __post_init__(self):
        self.session = self.dice.getrandbits(64)
        self.dur = self.dice.choice(DURATIONS)

    def beat(self, now):
        self.at = max(self.at + 1, now - self.behind)
        self.watched += self.dice.randrange(1, 5_000)
        return self._beat(self.dice.choices(("playing", "paused", "seeked", "ended"), (85, 7, 6, 2))[0])

    def nonsense(self, now):
        """A rate of no player, or a start that failed: to be rejected, and never to be seen again."""
        self.at = max(self.at + 1, now - self.behind)
        if self.dice.random() < 0.5:
            return {**self._beat("playing"), "rate": 17.0}
        return {**self._beat(self.dice.choice(("playing", "paused"))), "watched": 0}

    def _pos(self):
        """Some are far beyond the end that the player was told of: the length is unknown then."""
        beyond = self.dur and self.dice.random() < 0.02
        return self.dur + 60_001 if beyond else self.dice.randrange(self.dur or 10 * DAY)

    def _beat(self, state):
        return {
            "kind": self.kind,
            "oid": str(self.oid),
            "pos": self._pos(),
            "dur": self.dur,
            "state": state,
            "session": str(self.session),
            "watched": self.watched,
            "rate": 1.0,
            "at": self.at,
        }
