"""Beats that are events of owners, at a steady rate: each user earns several at each of its owners, in an order."""

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass

from subscriber_load.owners import CONTENTS, NOISY
from wire.kept import Kept
from wire.patience import PATIENCE_SECONDS

RULE = "first-view"
# Of each user. In each it earns another event at each of its owners, so that there is an order.
REQUESTS = 3
SENDERS = 4


@dataclass(slots=True)
class Earned:
    event: str
    owner: int
    user: int
    at: float  # of time.monotonic(), when its beat was answered


class Beats:
    def __init__(self, site, owners, items, seed):
        """`items`: of one request; when the noisy owner is silent, its users are left out."""
        assert items * REQUESTS <= CONTENTS, "a user earns as often as it watches"
        self._site, self._owners, self._items, self._seed = site, owners, items, seed
        self._next_user = 1
        self._senders = []

    def answered(self):
        """Events that were earned up to now, of all phases."""
        return sum(len(sender.earned) for sender in self._senders)

    def send(self, users, rate, is_noisy):
        """So many users more, at so many items a second; what they have earned, in the order of each user."""
        first, self._next_user = self._next_user, self._next_user + users
        began = time.monotonic()
        senders = [
            _Sender(self, began, self._items / rate, range(first + n, first + users, SENDERS), n, is_noisy)
            for n in range(SENDERS)
        ]
        self._senders += senders
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
            if sender.failure:
                raise sender.failure
        return [earned for sender in senders for earned in sender.earned]

    def plan(self, user, is_noisy):
        """The contents of each of its requests, with their owners."""
        drawn, had = self._owners.draw(random.Random(f"{self._seed} {user}"), self._items), Counter()
        requests = [[] for _ in range(REQUESTS)]
        for owner in drawn:
            if owner == NOISY and not is_noisy:
                continue
            for n, request in enumerate(requests):
                request.append((owner, self._owners.content(owner, had[owner] * REQUESTS + n)))
            had[owner] += 1
        return requests

    def watch(self, kept, user, items):
        """One request, until it is answered; the events of its items."""
        at = time.time_ns() // 1_000_000
        beats = [
            {"kind": 1, "oid": str(content), "pos": 1, "state": "playing", "session": str(user), "at": at + n}
            for n, (_, content) in enumerate(items)
        ]
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            status, text = kept.ask(self._site.gateways[0].http, "POST", "/v1/beats", mid=user, body={"items": beats})
            if status == 200:
                answered, answer = time.monotonic(), json.loads(text)
                if answer["rejected"]:
                    break
                events = ((owner, f"{RULE}:{answer['today']}:{user}:1:{content}") for owner, content in items)
                return [Earned(event, owner, user, answered) for owner, event in events]
            time.sleep(0.05)
        raise RuntimeError(f"a beat was answered {status} {text[:500]}")


class _Sender(threading.Thread):
    """Every so many-th request, each at its time."""

    def __init__(self, beats, began, every, users, number, is_noisy):
        super().__init__(daemon=True)
        self._beats, self._began, self._every, self._users = beats, began, every, users
        self._number, self._is_noisy = number, is_noisy
        self.earned, self.failure = [], None

    def run(self):
        kept, due = Kept(), self._began + self._number * self._every
        try:
            for user in self._users:
                for items in self._beats.plan(user, self._is_noisy):
                    time.sleep(max(0.0, due - time.monotonic()))
                    if items:
                        self.earned += self._beats.watch(kept, user, items)
                    due += SENDERS * self._every
        except Exception as error:
            self.failure = error
