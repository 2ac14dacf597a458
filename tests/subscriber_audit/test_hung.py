"""On Redis and Kafka, many more endpoints hang than there are workers: a subscriber that answers is delivered to in time."""

import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from subscriber_audit.sites import OnRedis
from subscribers.receiver import Receiver
from wire.http import call, control
from wire.patience import until

USER = 42
WORKERS = 6
# As many as may hang beside the workers.
HUNG = 4 * WORKERS
TIMEOUT_SECONDS = 4
# If each kept its worker until the time limit, it would be HUNG / WORKERS of them: 16 s. They are found out after a second each.
FIRST_SECONDS_MAX = 10
# Beside their retries, which would take all workers all the time.
LATER_SECONDS_MAX = 2.5
LATER = 5


class HungEndpoints(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="heartline-hung-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.receiver = Receiver()
        self.addCleanup(self.receiver.end)
        settings = {"SUBSCRIBERS__WORKERS": WORKERS, "SUBSCRIBERS__TIMEOUT": f"{TIMEOUT_SECONDS}s"}
        self.site = OnRedis(Path(os.environ["HEARTLINE_BIN"]), self.scratch, cascades=1, **settings)
        self.addCleanup(self.site.end)
        self.site.start()

    def test_they_keep_no_other_waiting(self):
        hung = [f"hung-{number}" for number in range(HUNG)]
        for owner in hung:
            self.receiver.behave(f"/{owner}", ending="hang")
        # The one that answers comes last.
        for owner in (*hung, "quick"):
            until(f"{owner} is made", lambda owner=owner: self._put(owner) in (200, 201))
        took = self._delivered_after(1)
        self.assertLess(took, FIRST_SECONDS_MAX)
        until("all hang", lambda: all(self.receiver.requests(f"/{owner}") for owner in hung))
        until("their tries fail", lambda: all(self._state(owner) == "failing" for owner in hung))
        later = [self._delivered_after(number) for number in range(2, 2 + LATER)]
        self.assertLess(max(later), LATER_SECONDS_MAX)
        again = sum(len(self.receiver.requests(f"/{owner}")) for owner in hung)
        print(f"beside {HUNG} endpoints that hang, {WORKERS} workers: delivered after {took:.2f} s at first, then "
              f"{max(later):.2f} s at most; {again} requests to those", flush=True)

    def _put(self, owner):
        body = {
            "url": self.receiver.url(f"/{owner}"), "types": ["dev.heartline.reward.v1"], "filter": {"mids": [str(USER)]},
        }
        return control(self.site.gateways[0], "PUT", f"/v1/subscribers/{owner}", body).status

    def _state(self, owner):
        return control(self.site.gateways[0], "GET", f"/v1/subscribers/{owner}").json()["state"]

    def _delivered_after(self, count):
        """An event for all of them; how long until the one that answers has so many."""
        at, began = time.time_ns() // 1_000_000, time.monotonic()
        item = {"kind": 1, "oid": str(count), "pos": 1, "state": "playing", "session": "1", "at": at}
        answer = call(self.site.gateways[0].http, "POST", "/v1/beats", mid=USER, body={"items": [item]})
        self.assertEqual(len(answer.json()["rewards"]), 1, answer.text)
        until("it is delivered", lambda: len(self.receiver.requests("/quick")) >= count)
        return time.monotonic() - began


if __name__ == "__main__":
    unittest.main()
