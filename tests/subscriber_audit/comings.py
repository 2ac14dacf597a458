"""Owners that come and go: no try begins after the DELETE of one was answered."""

import itertools
import threading
import time
import urllib.error

from wire.http import control


class Comings(threading.Thread):
    """Makes and deletes one owner again and again, with another path each time."""

    def __init__(self, site, receiver, content):
        super().__init__(daemon=True)
        self._site, self._receiver, self._content = site, receiver, content
        self._ends = threading.Event()
        self.gone = {}  # path: time.monotonic() of the answer to its DELETE
        self.failure = None

    def end(self):
        self._ends.set()
        self.join()

    def run(self):
        try:
            for n in itertools.count():
                if self._ends.is_set():
                    return
                path = f"/comes/{n}"
                body = {
                    "url": self._receiver.url(path), "types": ["dev.heartline.reward.v1"],
                    "filter": {"contents": [f"1:{self._content}"]},
                }
                self._until_answered("PUT", {200, 201}, body)
                time.sleep(0.3)
                self._until_answered("DELETE", {204, 404})
                self.gone[path] = time.monotonic()
        except Exception as error:
            self.failure = error
            raise

    def _until_answered(self, method, good, body=None):
        while True:
            try:
                answer = control(self._site.gateways[0], method, "/v1/subscribers/comes-and-goes", body)
                if answer.status in good:
                    return
            except (urllib.error.URLError, OSError, TimeoutError):
                pass
            time.sleep(0.05)

    def faults(self):
        late = [
            (path, request.at - gone) for path, gone in self.gone.items() for request in self._receiver.requests(path)
            if request.at > gone
        ]
        failed = [("load", f"owners no longer come and go: {self.failure!r}")] if self.failure else []
        return failed + [("delete", f"{path}: a try began {seconds:.3f} s after its DELETE") for path, seconds in late]
