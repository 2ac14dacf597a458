"""The receivers of the demo: subscribers of a gateway that delivers to itself."""

import itertools
import time

from python.served import Served
from subscribers.served import RULES
from wire.http import call, control
from wire.patience import until

_oids = itertools.count(1)


class Demo(Served):
    # Without a key the demo is served, with one of its own.
    settings = {"AUTH__HS256_SECRET": "", "REWARDS__RULES": RULES}

    def setUp(self):
        super().setUp()
        self.assertEqual(self.ask("PUT").status, 200)
        self.addCleanup(self.ask, "DELETE")

    def ask(self, method, path="", body=None, headers=()):
        return call(self.served.http, method, f"/demo/receivers{path}", body=body, headers=headers)

    def behave(self, behaviour):
        answer = self.ask("PUT", "/receiver", {"behaviour": behaviour})
        self.assertEqual(answer.status, 200, answer.text)

    def earn(self):
        token = call(self.served.http, "POST", "/demo/token", body={"mid": str(self.mid)}).json()["token"]
        now = time.time_ns() // 1_000_000
        item = {"kind": 1, "oid": str(next(_oids)), "pos": 1, "state": "playing", "session": "1", "at": now}
        answer = call(
            self.served.http, "POST", "/v1/beats", body={"items": [item]}, headers={"Authorization": f"Bearer {token}"}
        )
        self.assertEqual(len(answer.json()["rewards"]), 1, answer.text)

    def shown(self):
        receiver, neighbour = self.ask("GET").json()["receivers"]
        self.assertEqual((receiver["name"], neighbour["name"]), ("receiver", "neighbour"))
        return receiver, neighbour

    def received(self):
        return tuple(shown["received"] for shown in self.shown())

    def until_received(self, receiver, neighbour, before):
        wanted = (before[0] + receiver, before[1] + neighbour)
        until(f"{wanted} are received", lambda: self.received() == wanted)

    def test_what_breaks_one_keeps_nothing_from_the_other(self):
        before = self.received()
        self.earn()
        self.until_received(1, 1, before)
        self.behave("broken")
        self.earn()
        self.until_received(1, 2, before)
        until("it fails", lambda: self.shown()[0]["subscriber"]["state"] == "failing")
        self.assertEqual(self.shown()[0]["subscriber"]["depth"], 1)
        self.behave("healthy")
        self.until_received(2, 2, before)
        self.behave("slow")
        self.earn()
        self.until_received(2, 3, before)
        self.until_received(3, 3, before)

    def test_they_are_subscribers_like_others_until_they_go(self):
        ids = ["demo-neighbour", "demo-receiver"]
        listed = lambda: [shown["id"] for shown in control(self.served, "GET", "/v1/subscribers").json()["subscribers"]]
        self.assertEqual(listed(), ids)
        self.assertEqual(self.ask("PUT").status, 200)
        self.assertEqual(listed(), ids)
        answer = self.ask("DELETE")
        self.assertEqual((answer.status, listed()), (200, []))
        self.assertEqual([shown["subscriber"] for shown in answer.json()["receivers"]], [None, None])
        self.assertEqual(self.ask("DELETE").status, 200)

    def test_bad_input_is_refused(self):
        for path, body, status in [
            ("/receiver", {"behaviour": "wild"}, 400), ("/receiver", {}, 400), ("/receiver", b"broken", 415),
            ("/nobody", {"behaviour": "slow"}, 404),
        ]:
            self.assertEqual(self.ask("PUT", path, body).status, status, (path, body))
        self.assertEqual(self.ask("POST", "/nobody", {}).status, 404)
        elsewhere = {"Origin": "https://evil.example"}
        for method, path in [("GET", ""), ("PUT", ""), ("DELETE", ""), ("PUT", "/receiver"), ("POST", "/receiver")]:
            self.assertEqual(self.ask(method, path, {}, elsewhere).status, 403, (method, path))
