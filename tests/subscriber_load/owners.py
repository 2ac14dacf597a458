"""The owners: some have much, most have little, and each has contents of its own."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

from wire.kept import Kept
from wire.patience import until

NOISY = 0
# Of all events, and of all users: those of the noisy owner earn nothing elsewhere. Without them nothing else changes.
NOISY_SHARE = 0.2
# Owners that come next after the noisy one, so that what waits for them is much.
HANGING, BROKEN, SLOW = 1, 2, 3
QUIET_FROM = 4
# An owner has so many contents: a user is rewarded once for each.
CONTENTS = 48
MAKERS = 4


class Owners:
    def __init__(self, count):
        self.count = count
        exponent = _exponent(count)
        self._until = list(itertools.accumulate(rank**-exponent for rank in range(2, count + 1)))

    def draw(self, dice, count):
        """Owners of so many events of a user, by their shares."""
        if dice.random() < NOISY_SHARE:
            return [NOISY] * count
        return dice.choices(range(NOISY + 1, self.count), cum_weights=self._until, k=count)

    def content(self, owner, number):
        return owner + number * self.count

    def make(self, gateway, receiver):
        """All of them, by the control API."""
        of_thread = threading.local()

        def put(owner):
            if not hasattr(of_thread, "kept"):
                of_thread.kept = Kept()
            body = {
                "url": receiver.url(owner), "types": ["dev.heartline.reward.v1"],
                "filter": {"contents": [f"1:{self.content(owner, n)}" for n in range(CONTENTS)]},
            }
            path = f"/v1/subscribers/owner-{owner}"
            # A topic that was just made has no leader yet.
            until(path, lambda: of_thread.kept.ask(gateway.control, "PUT", path, body=body)[0] in (200, 201))

        with ThreadPoolExecutor(MAKERS) as pool:
            list(pool.map(put, range(self.count)))


def _exponent(count):
    """Of the Zipf distribution in which the first of so many has its share."""
    low, high = 0.0, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        share = 1 / sum(rank**-middle for rank in range(1, count + 1))
        low, high = (middle, high) if share < NOISY_SHARE else (low, middle)
    return high
