"""Callers: clients of the control listener that add to keys, one request at a time, to any of the gateways."""

import json
import random
import threading
import time

from counter_audit.book import LIKES, STOCK, VISITS
from wire.http import control
from wire.kept import Kept
from wire.patience import PATIENCE_SECONDS

KEYS = 6
AWAY_SECONDS = (0.01, 0.1)


class Caller(threading.Thread):
    def __init__(self, name, seed, number, site, book, faults):
        super().__init__(daemon=True)
        self._name, self._dice, self._round = name, random.Random(f"{seed} {name}"), number
        self._site, self._book, self._faults = site, book, faults
        self._requests, self._ended, self._kept = 0, threading.Event(), Kept()
        # The value of each key as it was answered last.
        self._likes = [0] * KEYS

    def end(self):
        """What was begun is repeated until it is answered."""
        self._ended.set()
        self.join()

    def run(self):
        try:
            while not self._ended.is_set():
                chance, number = self._dice.random(), self._dice.randrange(KEYS)
                if chance < 0.6:
                    # Up and down through all thresholds.
                    by = self._dice.randint(1, 30)
                    value = self._add_once(LIKES, ("1", str(number)), -by if self._likes[number] > 0 else by)
                    self._likes[number] = value
                elif chance < 0.8:
                    # New ones in each round: they sell out.
                    self._add_once(STOCK, (f"{self._round}-{number % 2}",), -1)
                else:
                    self._visit((f"{self._round}-{number}",))
        except Exception as error:
            self._faults.append(("caller", f"{type(error).__name__}: {error}"))
            raise

    def _add_once(self, counter, key, by):
        self._requests += 1
        request = {"key": key, "by": by, "id": f"{self._name}-{self._requests}"}
        self._book.asks(counter, key)
        attempts, status, give_up = 0, 0, time.monotonic() + PATIENCE_SECONDS
        while status not in (200, 409):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{request} is never answered")
            attempts += 1
            status, answer = self._post(counter, request)
        if status == 409:
            self._expect(answer["type"].endswith("bounds") and answer["value"] == 0, f"{request} is refused: {answer}")
            self._expect(counter == STOCK, f"{request} is refused: {answer}")
            self._book.refused(counter, key)
        else:
            self._book.done(counter, key, by, answer["value"], attempts)
        return answer["value"]

    def _visit(self, key):
        self._book.asks(VISITS, key)
        status, answer = self._post(VISITS, {"key": key})
        if status == 200:
            self._book.done(VISITS, key, 1, answer["value"], 1)
        else:
            self._book.lost(VISITS, key)

    def _post(self, counter, request):
        """Status and answer; 0: there is none. What is refused for now is answered 503."""
        gateway = self._dice.choice(self._site.gateways)
        status, text = self._kept.ask(gateway.control, "POST", f"/v1/counters/{counter}", body=request)
        if status not in (200, 409):
            self._expect(status in (0, 503), f"{request} is answered {status}: {text[:300]}")
            time.sleep(self._dice.uniform(*AWAY_SECONDS))
            return status, None
        return status, json.loads(text)

    def _expect(self, holds, text):
        if not holds:
            self._faults.append(("counters", text))


def read_values(gateway, counter, keys):
    answer = control(gateway, "POST", f"/v1/counters/{counter}/get", {"keys": keys}).json()
    return dict(zip(keys, answer["values"], strict=True))
