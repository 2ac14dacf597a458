"""Subscribers are made, shown, changed and deleted as the contract says."""

import time

from subscribers.served import COUNTER, REWARD, WithSubscribers
from wire.http import control
from wire.patience import until


class Api(WithSubscribers):
    def test_a_subscriber_is_made_and_replaced_as_a_whole(self):
        made = self.made(filter={"kinds": [1]}, batch=7)
        self.assertTrue(made["secret"].startswith("whsec_"))
        expected = {"state": "active", "depth": 0, "delivered": 0, "batch": 7, "filter": {"kinds": [1]}, "types": [REWARD]}
        self.assertEqual({name: made[name] for name in expected}, expected)
        replaced = self.control("PUT", body={"url": self.receiver.url("/other"), "types": [COUNTER]})
        self.assertEqual(replaced.status, 200)
        replaced = replaced.json()
        self.assertEqual((replaced["filter"], replaced["batch"], replaced["types"]), ({}, 1, [COUNTER]))
        self.assertNotIn("secret", replaced)
        self.assertNotIn("secret", self.shown())

    def test_a_secret_that_is_given_is_not_shown(self):
        self.assertNotIn("secret", self.made(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))

    def test_bad_input_is_named_and_changes_nothing(self):
        for fields, path in [
            ({"url": "nowhere"}, "url"),
            ({"url": "https://user:secret@example.com/"}, "url"),
            ({"url": "https://example.com/#top"}, "url"),
            ({"url": "ftp://example.com/"}, "url"),
            ({"url": "https://10.0.0.1/"}, "url"),
            ({"url": "http://127.0.0.2/"}, "url"),
            ({"url": "http://2130706434/"}, "url"),
            ({"url": "http://0x7f000002/"}, "url"),
            ({"url": "http://[::ffff:127.0.0.2]/"}, "url"),
            ({"types": []}, "types"),
            ({"types": ["other"]}, "types[0]"),
            ({"batch": 0}, "batch"),
            ({"batch": 101}, "batch"),
            ({"secret": "whsec_short"}, "secret"),
            ({"filter": {"contents": ["1"]}}, "filter.contents[0]"),
            ({"filter": {"kinds": [65_536]}}, "filter.kinds[0]"),
            ({"filter": {"colours": ["blue"]}}, "filter"),
            ({"filter": {"rules": ["first-view", "first-vieuw"]}},
             "filter.rules[1]: there is no reward rule first-vieuw; known: first-view"),
            ({"filter": {"counters": ["like"]}}, "filter.counters[0]: there is no counter like; known: likes"),
            ({"colour": "blue"}, ""),
        ]:
            answer = self.put(**fields)
            self.assertEqual((answer.status, answer.json()["type"]), (400, "/problems/invalid"), fields)
            self.assertTrue(answer.json()["detail"].startswith(path), answer.text)
            self.assertNotIn("secret@", answer.text)
        self.assertEqual(self.control("GET").status, 404)
        self.assertEqual(control(self.served, "GET", "/v1/subscribers/a%20b").status, 400)

    def test_an_unknown_subscriber_is_not_found(self):
        for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/rotate"),
                             ("GET", "/dead"), ("POST", "/dead/resend")]:
            self.assertEqual(self.control(method, path).status, 404, path)
        self.assertEqual(self.control("POST", "/replay", {"since": "2026-01-01T00:00:00Z"}).status, 404)

    def test_a_replay_from_the_future_is_refused(self):
        self.made()
        answer = self.control("POST", "/replay", {"since": "2999-01-01T00:00:00Z"})
        self.assertEqual((answer.status, answer.json()["detail"]), (400, "since: must not be in the future"))

    def test_subscribers_are_listed_in_pages(self):
        names = [f"{self.id}.{n}" for n in range(5)]
        for name in names:
            self.id = name
            self.made()
        listed, after = [], ""
        while True:
            page = control(self.served, "GET", f"/v1/subscribers?limit=2&after={after}").json()
            listed += [subscriber["id"] for subscriber in page["subscribers"]]
            if not (after := page.get("next")):
                break
        self.assertEqual([name for name in listed if name in names], names)
        self.assertEqual(listed, sorted(listed))
        self.assertEqual(control(self.served, "GET", "/v1/subscribers?colour=blue").status, 400)

    def test_the_list_tells_that_a_cascade_looks_at_the_bus(self):
        cascade = lambda: control(self.served, "GET", "/v1/subscribers").json()["cascade"]
        until("it has looked", lambda: not cascade()["away"])
        self.assertAlmostEqual(cascade()["looked_at"], time.time() * 1_000, delta=60_000)

    def test_a_deleted_subscriber_is_gone(self):
        self.made()
        self.control("POST", "/pause")
        self.earn(1)
        until("it is queued", lambda: self.shown()["depth"] == 1)
        self.assertEqual([self.control("DELETE").status for _ in range(2)], [204, 204])
        self.assertEqual(self.control("GET").status, 404)
        self.made()
        self.assertEqual((self.shown()["depth"], self.got()), (0, []))

    def test_the_command_line_does_the_same(self):
        listen = self.served.control.removeprefix("http://")
        self.served.settings["CONTROL__LISTEN"] = listen
        run = lambda *words: self.served.run("subscribers", *words)
        made = run("put", self.id, "--url", self.receiver.url(self.path), "--type", REWARD, "--mid", str(self.user))
        self.assertIn("whsec_", made)
        ids = self.earn(1)
        self.wait_for(ids)
        self.assertIn('"delivered":1', run("show", self.id))
        listed = self.served.completed("subscribers", "list")
        self.assertIn(f'"{self.id}"', listed.stdout)
        self.assertEqual(listed.stderr, "")
        self.assertIn('"paused"', run("pause", self.id))
        self.assertIn('"active"', run("resume", self.id))
        self.assertIn("whsec_", run("rotate", self.id))
        run("replay", self.id, "--since", "2026-01-01T00:00:00Z")
        self.wait_for(ids * 2)
        self.assertEqual(run("dead", self.id), "")
        self.assertEqual(run("delete", self.id), "")
