"""Users without a socket, and the operator who erases some: one request at a time, until it is answered."""

import random
import threading
import time

from derived_audit.crowd import some_user
from derived_audit.habits import DEVICES, ERASE_CHANCE, operation
from wire.kept import Kept
from wire.patience import PATIENCE_SECONDS

AWAY_SECONDS = (0.01, 0.1)
REST_SECONDS = (0.0, 0.05)


class Caller(threading.Thread):
    def __init__(self, name, seed, users, site, book, faults):
        super().__init__(daemon=True)
        self._dice, self._users = random.Random(f"{seed} {name}"), users
        self._site, self._book, self._faults = site, book, faults
        self._kept, self._ended = Kept(), threading.Event()

    def end(self):
        self._ended.set()
        self.join()

    def run(self):
        try:
            while not self._ended.is_set():
                mid = some_user(self._dice, self._users)
                if self._dice.random() < ERASE_CHANCE:
                    self._ask(mid, {"erase": mid}, ("POST", "/v1/erase", {"mid": str(mid)}), of_operator=True)
                else:
                    asked = operation(self._dice, int(time.time() * 1_000), self._site.late_chance)
                    for request in _requests(asked, self._dice.choice(DEVICES)):
                        self._ask(mid, asked, request)
                time.sleep(self._dice.uniform(*REST_SECONDS))
        except Exception as error:
            self._faults.append(("caller", f"{type(error).__name__}: {error}"))
            raise

    def _ask(self, mid, asked, request, of_operator=False):
        method, path, body = request
        status, again, give_up = 0, False, time.monotonic() + PATIENCE_SECONDS
        while status not in (200, 204):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{method} {path} is never answered")
            self._book.asks(mid, asked, again)
            gateway = self._dice.choice(self._site.gateways)
            base, user = (gateway.control, None) if of_operator else (gateway.http, mid)
            status, text = self._kept.ask(base, method, path, user, body)
            if status not in (200, 204):
                if status not in (0, 503):
                    self._faults.append(("caller", f"{method} {path} is answered {status}: {text[:300]}"))
                again = True
                time.sleep(self._dice.uniform(*AWAY_SECONDS))
        self._book.answered(mid, asked)


def _requests(asked, device):
    """An operation over HTTP: method, path, body."""
    if "beats" in asked:
        return [("POST", "/v1/beats", {"items": asked["beats"]["items"], "device": device})]
    if "clear" in asked:
        return [("DELETE", f"/v1/history?at={asked['clear']['at']}", None)]
    items, at = asked["delete"]["items"], asked["delete"]["at"]
    return [("DELETE", f"/v1/history/{item['kind']}/{item['oid']}?at={at}", None) for item in items]
