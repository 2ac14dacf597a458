"""A gateway with subscribers, a receiver, and users who earn rewards at once."""

import itertools
import json
import time
from urllib.parse import quote

from python.served import Served
from subscribers.receiver import Receiver
from wire.http import call, control
from wire.patience import until

RULES = """[
    { id = "first-view", per = "content", watched = "0s", exact = true },
]"""
REWARD, COUNTER = "dev.heartline.reward.v1", "dev.heartline.counter.v1"

_users = itertools.count(100_000)
_names = itertools.count(1)


class WithSubscribers(Served):
    """One gateway and one receiver for all tests of the class; a subscriber and a user of its own for each test."""

    settings = {
        "REWARDS__RULES": RULES,
        "COUNTERS__DIRECT": '[{ id = "likes", key = ["kind", "oid"], thresholds = [1, 2, 3] }]',
        "SUBSCRIBERS__ALLOW_HTTP": "true",
        "SUBSCRIBERS__ALLOW_NETWORKS": '["127.0.0.1/32"]',
        "SUBSCRIBERS__TIMEOUT": "1s",
        "SUBSCRIBERS__RETRIES": '["300ms", "600ms"]',
        "SUBSCRIBERS__QUEUE_EVENTS": 20,
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.end)

    def setUp(self):
        super().setUp()
        self.take_another()
        self.user = next(_users)

    def take_another(self):
        """Another subscriber, of the same user's rewards."""
        self.id = f"{self._testMethodName[:40]}-{next(_names)}"
        self.path = f"/{self.id}"

    def control(self, method, path="", body=None):
        return control(self.served, method, f"/v1/subscribers/{quote(self.id)}{path}", body)

    def put(self, **fields):
        """By default it gets the rewards of this test's user."""
        body = {"url": self.receiver.url(self.path), "types": [REWARD], "filter": {"mids": [str(self.user)]}, **fields}
        return self.control("PUT", body=body)

    def made(self, **fields):
        answer = self.put(**fields)
        self.assertEqual(answer.status, 201, answer.text)
        return answer.json()

    def shown(self):
        answer = self.control("GET")
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json()

    def earn(self, *oids, kind=1, user=None):
        """One reward for each content; the ids of the events."""
        user, now = user or self.user, time.time_ns() // 1_000_000
        items = [
            {"kind": kind, "oid": str(oid), "pos": 1, "state": "playing", "session": str(oid), "at": now + n}
            for n, oid in enumerate(oids)
        ]
        answer = call(self.served.http, "POST", "/v1/beats", mid=user, body={"items": items})
        self.assertEqual((answer.status, answer.json()["rejected"]), (200, []), answer.text)
        rewards = [reward["id"] for reward in answer.json()["rewards"]]
        self.assertEqual(len(rewards), len(oids), answer.text)
        return rewards

    def logged(self):
        """The events of the log of this class's gateway."""
        return [entry["event"] for entry in control(self.served, "GET", "/v1/events?limit=1000").json()["events"]]

    def got(self, path=None):
        """The ids that were confirmed, in their order."""
        return [id_of(request) for request in self.receiver.requests(path or self.path) if 200 <= request.status < 300]

    def wait_for(self, ids, path=None):
        until(f"{ids} arrive", lambda: len(self.got(path)) >= len(ids))
        self.assertEqual(self.got(path), ids)

    def wait_for_state(self, state):
        until(f"it is {state}", lambda: self.shown()["state"] == state)
        return self.shown()


def id_of(request):
    return json.loads(request.body)["id"]
