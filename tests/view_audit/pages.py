"""Pages: clients over HTTP that count views by request, and read totals and days."""

import json
import random
import threading
import time
from collections import Counter

from wire.kept import Kept

KIND = 3
CONTENTS = range(1, 41)
USERS = range(1, 1_000)
AWAY_SECONDS = (0.01, 0.1)
# Of the views that get no answer, so many are asked once more, until they get one.
AGAIN_CHANCE = 0.5
READ_CHANCE = 0.3
DAYS_CHANCE = 0.02
SESSION_CHANCE = 0.7


class Page(threading.Thread):
    """One request at a time, to any of the gateways."""

    def __init__(self, number, seed, fleet, book, faults):
        super().__init__(daemon=True)
        self._number, self._dice = number, random.Random(f"{seed} {number}")
        self._fleet, self._book, self._faults = fleet, book, faults
        self._views, self._ended, self._kept = 0, threading.Event(), Kept()
        # By operation and status; 0: the connection broke.
        self.answers = Counter()

    def end(self):
        self._ended.set()
        self.join()

    def run(self):
        try:
            while not self._ended.is_set():
                self._go_on()
        except Exception as error:
            self._faults.append(("page", f"{type(error).__name__}: {error}"))
            raise

    def _go_on(self):
        chance, oid = self._dice.random(), self._dice.choice(CONTENTS)
        if chance < DAYS_CHANCE:
            self._read_days(oid)
        elif chance < READ_CHANCE:
            self._read_totals(self._dice.sample(CONTENTS, 10))
        else:
            self._view(oid)

    def _view(self, oid):
        """The session, if there is one, is of this view alone."""
        user, self._views = self._dice.choice(USERS), self._views + 1
        view = f"{self._number}-{self._views}"
        body = {"session": str(self._dice.getrandbits(60))} if self._dice.random() < SESSION_CHANCE else None
        first = True
        while first or not self._ended.is_set():
            least = self._book.least(oid)
            self._book.asked(oid, view)
            status, answer = self._ask("view", user, "POST", f"/v1/views/{KIND}/{oid}", body)
            if status == 200:
                break
            # Without a session, another attempt would be another view.
            if body is None or (first and self._dice.random() > AGAIN_CHANCE):
                return
            first = False
        else:
            return
        self._book.answered(oid, view)
        most = self._book.most(oid)
        self._expect(answer["counted"] or not first, f"a view of {oid} is not counted although it is new: {answer}")
        total = answer["views"]
        known = total is None and answer.get("partial") or total is not None and least < total <= most
        self._expect(known, f"{answer} for a view of {oid}, of which {least} to {most} were counted")

    def _read_totals(self, oids):
        least = [self._book.least(oid) for oid in oids]
        items = [{"kind": KIND, "oid": str(oid)} for oid in oids]
        status, answer = self._ask("totals", 1, "POST", "/v1/views/get", {"items": items})
        if status != 200:
            return
        for oid, at_least, total in zip(oids, least, answer["views"], strict=True):
            most = self._book.most(oid)
            known = total is None and answer.get("partial") or total is not None and at_least <= total <= most
            self._expect(known, f"{answer} for {oids}; of {oid} {at_least} to {most} were counted")

    def _read_days(self, oid):
        status, answer = self._ask("days", 1, "GET", f"/v1/views/{KIND}/{oid}/days")
        if status == 200:
            days, most = sum(day["views"] for day in answer["days"]), self._book.most(oid)
            self._expect(days <= most, f"{days} views by day of {oid}, of which {most} were asked")

    def _ask(self, what, user, method, path, body=None):
        """Status and answer; 0: there is none. What is refused for now is answered 503."""
        gateway = self._dice.choice(self._fleet.gateways)
        status, text = self._kept.ask(gateway.http, method, path, user, body)
        self.answers[what, status] += 1
        if status != 200:
            self._expect(status in (0, 503), f"{method} {path} is answered {status}: {text[:300]}")
            time.sleep(self._dice.uniform(*AWAY_SECONDS))
            return status, None
        return status, json.loads(text)

    def _expect(self, holds, text):
        if not holds:
            self._faults.append(("views", text))
