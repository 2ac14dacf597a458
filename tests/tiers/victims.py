"""What is killed with SIGKILL, round after round."""

import time
from collections import Counter

AWAY_SECONDS = (0.0, 1.5)


class Victims:
    """`servers`: by name, those that are killed together. All have their turn in a random order, and then again."""

    def __init__(self, dice, servers, away_seconds=AWAY_SECONDS):
        self._dice, self._servers, self._away_seconds = dice, servers, away_seconds
        self._next = []
        self.killed = Counter()

    def kill_next(self):
        """Its name, and the seconds that it was away."""
        if not self._next:
            self._next = self._dice.sample(list(self._servers), len(self._servers))
        name = self._next.pop()
        return name, self.kill(name)

    def kill(self, name):
        """It is started again; the seconds that it was away."""
        self.killed[name] += 1
        for server in self._servers[name]:
            server.kill()
        began = time.monotonic()
        time.sleep(self._dice.uniform(*self._away_seconds))
        for server in self._servers[name]:
            server.start()
        return time.monotonic() - began
