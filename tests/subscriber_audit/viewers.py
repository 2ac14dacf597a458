"""Users whose beats are events: several for each owner, so that an order can be broken."""

import json
import threading
import time
import urllib.error

from wire.http import call

RULE = "first-view"
# Each user deletes it in the end.
DELETED = 1
# Contents of one request.
ITEMS = 50
# Of each user at each owner. With one, no order is there to judge.
EVENTS_PER_USER = 3


def contents_of(owner, owners):
    """The contents whose events are that owner's."""
    return [owner + n * owners for n in range(EVENTS_PER_USER)]


class Viewers(threading.Thread):
    """Beats of users of its own, each repeated until it is answered, until it is ended."""

    def __init__(self, number, site, owners, pause=0.0):
        super().__init__(daemon=True)
        self._number, self._site, self._owners, self._pause = number, site, owners, pause
        self._ends = threading.Event()
        self.expected = []  # (owner, event id, user), in the order in which they were earned
        self.watched = []  # (user, content, at) that were acked
        self.deleted = []  # (user, content)
        self.failure = None

    def end(self):
        self._ends.set()
        self.join()

    def run(self):
        user = self._number * 1_000_000
        try:
            while not self._ends.is_set():
                user += 1
                contents = range(EVENTS_PER_USER * self._owners)
                for first in range(0, len(contents), ITEMS):
                    if self._ends.is_set():
                        break
                    self._watch(user, contents[first : first + ITEMS])
                    time.sleep(self._pause)
                else:
                    self._forget(user, DELETED)
        except Exception as error:
            self.failure = error
            raise

    def _watch(self, user, contents):
        at = time.time_ns() // 1_000_000
        items = [
            {"kind": 1, "oid": str(content), "pos": 1, "state": "playing", "session": str(user), "at": at + n}
            for n, content in enumerate(contents)
        ]
        answer = self._until_answered(200, "POST", "/v1/beats", user, {"items": items})
        self.watched += [(user, content, at + n) for n, content in enumerate(contents)]
        day = answer.json()["today"]
        self.expected += [(content % self._owners, f"{RULE}:{day}:{user}:1:{content}", user) for content in contents]

    def _forget(self, user, content):
        at = time.time_ns() // 1_000_000
        self._until_answered(204, "DELETE", f"/v1/history/1/{content}?at={at}", user)
        self.deleted.append((user, content))

    def _until_answered(self, status, method, path, user, body=None):
        while True:
            try:
                answer = call(self._site.gateways[0].http, method, path, mid=user, body=body)
                if answer.status == status:
                    return answer
            except (urllib.error.URLError, OSError, TimeoutError, json.JSONDecodeError):
                pass
            time.sleep(0.05)
