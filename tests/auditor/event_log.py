"""The event log as a consumer sees it: tailed while the gateway lives, and read from the start when all is over."""

import http.client
import threading
import time

from wire.http import control

PAGE = 1_000
LOOK_SECONDS = 0.02


class EventLog:
    """All that was ever read, by its offset."""

    def __init__(self, faults):
        self._faults = faults
        self.entries = {}
        self._last = 0
        self._untaken = []

    def catch_up(self, gateway):
        """Reads what there is beyond what was read."""
        while page := self._page(gateway, self._last):
            for entry in page:
                self._take(entry)

    def take(self):
        """The events that were read since the last time."""
        new, self._untaken = self._untaken, []
        return new

    def replay(self, gateway):
        """Reads all once more from the start: it must be what was read before, in its order."""
        again, after = {}, 0
        while page := self._page(gateway, after):
            again |= {entry["offset"]: entry["event"] for entry in page}
            after = page[-1]["offset"]
        if again != self.entries:
            gone = len(self.entries.keys() - again.keys())
            self._fault(f"a replay has {len(again)} events, {len(self.entries)} were read, {gone} of them are gone")

    def _page(self, gateway, after):
        response = control(gateway, "GET", f"/v1/events?after={after}&limit={PAGE}")
        if response.status != 200:
            raise ConnectionError(f"no events: {response.status} {response.text}")
        answer = response.json()
        page = answer["events"]
        offsets = [after, *(entry["offset"] for entry in page)]
        if any(one >= other for one, other in zip(offsets, offsets[1:])):
            self._fault(f"offsets do not grow: {offsets}")
        if page and answer["next"] != offsets[-1]:
            self._fault(f"next is {answer['next']} after {offsets[-1]}")
        return page

    def _take(self, entry):
        self._last = entry["offset"]
        self.entries[self._last] = entry["event"]
        self._untaken.append(entry["event"])

    def _fault(self, text):
        self._faults.append(("events", text))


class Tail:
    """Reads events beside the load until the gateway is gone: a consumer would have acted upon these."""

    def __init__(self, log, gateway):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, args=(log, gateway), daemon=True)
        self._thread.start()

    def end(self):
        self._stop.set()
        self._thread.join()

    def _follow(self, log, gateway):
        while not self._stop.is_set():
            try:
                log.catch_up(gateway)
            except (OSError, http.client.HTTPException):
                # It was killed in the middle of an answer, or before it.
                return
            time.sleep(LOOK_SECONDS)
