"""What subscribers get, and when."""

import json
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from standardwebhooks import Webhook, WebhookVerificationError

from subscribers.served import COUNTER, WithSubscribers, id_of
from wire.http import call, control
from wire.metrics import metric
from wire.patience import until


class Deliveries(WithSubscribers):
    def test_an_event_comes_as_it_is_in_the_log_and_is_signed(self):
        early = self.earn(1)
        until("it is in the log", lambda: early[0] in [event["id"] for event in self.logged()])
        secret = self.made()["secret"]
        ids = self.earn(2, 3)
        self.wait_for(ids)
        for request in self.receiver.requests(self.path):
            event = Webhook(secret).verify(request.body, request.headers)
            self.assertEqual(request.headers["webhook-id"], event["id"])
            self.assertEqual(request.headers["content-type"], "application/cloudevents+json; charset=utf-8")
            self.assertIn(event, self.logged())

    def test_a_batch_is_one_request(self):
        secret = self.made(batch=10)["secret"]
        self.control("POST", "/pause")
        ids = self.earn(*range(12))
        until("all are queued", lambda: self.shown()["depth"] == 12)
        self.control("POST", "/resume")
        until("all arrive", lambda: self.shown()["delivered"] == 12)
        first, second = self.receiver.requests(self.path)
        self.assertEqual([event["id"] for request in (first, second) for event in json.loads(request.body)], ids)
        self.assertEqual([request.headers["webhook-id"] for request in (first, second)], [f"{ids[0]}+10", f"{ids[10]}+2"])
        self.assertTrue(first.headers["content-type"].startswith("application/cloudevents-batch+json"))
        Webhook(secret).verify(first.body, first.headers)

    def test_a_filter_lets_pass_what_fits_each_of_its_fields(self):
        self.made(filter={"kinds": [2], "contents": ["2:1", "2:2"], "rules": ["first-view"], "counters": ["likes"],
                          "mids": [str(self.user)]})
        self.earn(1, 2, 3)
        self.earn(1, user=self.user + 1_000_000, kind=2)
        ids = self.earn(2, 3, 1, kind=2)
        self.wait_for([ids[0], ids[2]])

    def test_thresholds_of_counters_are_told(self):
        self.made(types=[COUNTER], filter={"counters": ["likes"], "mids": ["1"]})
        control(self.served, "POST", "/v1/counters/likes", {"key": ["7", str(self.user)], "by": 2})
        self.wait_for([f"likes:7:{self.user}:{threshold}:1" for threshold in (1, 2)])

    def test_a_secret_is_rotated_without_a_gap(self):
        old = self.made()["secret"]
        new = self.control("POST", "/rotate").json()["secret"]
        newest = self.control("POST", "/rotate").json()["secret"]
        self.wait_for(self.earn(1))
        [request] = self.receiver.requests(self.path)
        for secret in (new, newest):
            Webhook(secret).verify(request.body, request.headers)
        with self.assertRaises(WebhookVerificationError):
            Webhook(old).verify(request.body, request.headers)

    def test_a_failed_try_is_repeated_in_its_place(self):
        self.made()
        self.receiver.behave(self.path, status=500)
        ids = self.earn(1, 2)
        failing = self.wait_for_state("failing")
        self.assertEqual((failing["last_error"]["status"], failing["last_error"]["reason"]), (500, "status"))
        self.assertLessEqual(failing["next_try"], 800)
        until("it is tried again", lambda: len(self.receiver.requests(self.path)) >= 3)
        self.receiver.behave(self.path)
        self.wait_for(ids)
        self.assertEqual(set(map(id_of, self.receiver.requests(self.path)[:-2])), {ids[0]}, "nothing overtakes it")
        self.assertEqual(self.wait_for_state("active")["delivered"], 2)
        told = [line for line in self.served.stderr().splitlines() if f"subscriber={self.id}" in line]
        self.assertEqual([" WARN " in line and "subscriber_failing" in line for line in told], [True, False], told)
        self.assertIn("subscriber_recovered", told[1])

    def test_a_wait_that_is_asked_for_is_kept(self):
        self.made()
        self.receiver.behave(self.path, status=429, headers={"retry-after": "2"})
        ids = self.earn(1)
        self.wait_for_state("failing")
        self.receiver.behave(self.path)
        self.wait_for(ids)
        first, second = self.receiver.requests(self.path)
        self.assertGreaterEqual(second.at - first.at, 2)

    def test_a_wait_of_nothing_is_a_second(self):
        for wait in ("0", "Wed, 21 Oct 2015 07:28:00 GMT"):
            self.take_another()
            self.made()
            self.receiver.behave(self.path, status=503, headers={"retry-after": wait})
            self.earn(zlib.crc32(wait.encode()) % 1_000_000)
            until("it is tried again", lambda: len(self.receiver.requests(self.path)) >= 2)
            first, second = self.receiver.requests(self.path)[:2]
            self.assertGreaterEqual(second.at - first.at, 1, wait)
            self.control("DELETE")

    def test_a_resume_tries_at_once(self):
        self.made()
        self.receiver.behave(self.path, status=503, headers={"retry-after": "3600"})
        ids = self.earn(1)
        self.wait_for_state("failing")
        self.receiver.behave(self.path)
        self.assertEqual(self.control("POST", "/resume").json()["state"], "active")
        self.wait_for(ids)

    def test_each_failure_has_its_reason(self):
        for reason, behaviour in [
            ("timeout", {"ending": "hang"}),
            ("connect", {"ending": "close"}),
            ("redirect", {"status": 302, "headers": {"location": self.receiver.url("/elsewhere")}}),
            ("status", {"status": 404}),
        ]:
            self.id = f"{reason}-{self.user}"
            self.path = f"/{self.id}"
            self.made()
            self.receiver.behave(self.path, **behaviour)
            self.earn(zlib.crc32(reason.encode()) % 1_000_000)
            self.assertEqual(self.wait_for_state("failing")["last_error"]["reason"], reason)
            self.control("DELETE")
        self.assertEqual(self.receiver.requests("/elsewhere"), [])

    def test_an_endless_answer_counts_by_its_status(self):
        self.made()
        self.receiver.behave(self.path, ending="endless")
        self.wait_for(self.earn(1))
        until("it is confirmed", lambda: self.shown()["delivered"] == 1)

    def test_410_disables(self):
        self.made()
        self.receiver.behave(self.path, status=410)
        ids = self.earn(1)
        self.assertEqual(self.wait_for_state("disabled")["reason"], "gone")
        told = [line for line in self.served.stderr().splitlines() if f"subscriber={self.id}" in line]
        self.assertEqual([" WARN " in line and "subscriber_disabled" in line for line in told], [True], told)
        disabled = 'heartline_subscribers{state="disabled"}'
        until("it is counted", lambda: metric(self.served, disabled) >= 1, 30)
        self.earn(2)
        self.receiver.behave(self.path)
        time.sleep(0.5)
        self.assertEqual(self.shown()["depth"], 1, "nothing more is queued")
        self.assertEqual(self.put().json()["state"], "active")
        later = self.earn(3)
        self.wait_for(ids + later)

    def test_a_paused_subscriber_is_told_later(self):
        self.made()
        self.assertEqual(self.control("POST", "/pause").json()["state"], "paused")
        ids = self.earn(1, 2)
        until("they are queued", lambda: self.shown()["depth"] == 2)
        self.assertEqual(self.put().json()["state"], "paused", "a PUT leaves it paused")
        self.assertEqual(self.got(), [])
        self.control("POST", "/resume")
        self.wait_for(ids)

    def test_no_try_begins_after_the_answer_of_a_pause(self):
        self.made()
        self.receiver.behave(self.path, seconds=0.4)
        ids = self.earn(1, 2, 3, 4)
        until("a try has begun", lambda: self.receiver.requests(self.path))
        self.assertEqual(self.control("POST", "/pause").json()["state"], "paused")
        answered = time.monotonic()
        time.sleep(1)
        self.assertTrue(all(request.at < answered for request in self.receiver.requests(self.path)))
        self.control("POST", "/resume")
        self.wait_for(ids)

    def test_a_resume_ends_a_pause_that_waits(self):
        self.made()
        self.receiver.behave(self.path, ending="hang")
        ids = self.earn(1)
        until("a try hangs", lambda: self.receiver.requests(self.path))
        pausing = threading.Thread(target=self.control, args=("POST", "/pause"))
        pausing.start()
        until("it is paused", lambda: self.shown()["state"] == "paused")
        self.receiver.behave(self.path)
        self.control("POST", "/resume")
        pausing.join()
        self.assertNotEqual(self.shown()["state"], "paused")
        self.wait_for(ids)

    def test_no_try_begins_after_a_delete(self):
        self.made()
        self.receiver.behave(self.path, ending="hang")
        self.earn(1, 2)
        until("a try hangs", lambda: self.receiver.requests(self.path))
        self.assertEqual(self.control("DELETE").status, 204)
        answered = time.monotonic()
        time.sleep(2)
        self.assertTrue(all(request.at < answered for request in self.receiver.requests(self.path)))

    def test_one_that_is_put_while_a_delete_waits_stays(self):
        self.made()
        self.receiver.behave(self.path, ending="hang")
        self.earn(1)
        until("it is tried", lambda: self.receiver.requests(self.path))
        with ThreadPoolExecutor(1) as pool:
            deleted = pool.submit(self.control, "DELETE")
            until("it is gone", lambda: self.control("GET").status == 404)
            self.receiver.behave(self.path)
            self.made()
            self.assertEqual(deleted.result().status, 204)
        self.wait_for(self.earn(2))

    def test_what_is_too_much_is_kept_apart_and_sent_again(self):
        self.made()
        self.control("POST", "/pause")
        ids = self.earn(*range(25))
        until("the queue is full", lambda: self.shown()["dead"] == 5)
        dead = self.control("GET", "/dead?limit=3").json()
        self.assertEqual([letter["event"]["id"] for letter in dead["dead"]], ids[:3])
        self.assertEqual({letter["reason"] for letter in dead["dead"]}, {"queue_full"})
        rest = self.control("GET", f"/dead?after={dead['next']}").json()["dead"]
        self.assertEqual([letter["event"]["id"] for letter in rest], ids[3:5])
        self.control("POST", "/resume")
        self.wait_for(ids[5:])
        answer = self.control("POST", "/dead/resend")
        self.assertEqual((answer.status, answer.json()), (202, {"resent": 5}))
        self.wait_for(ids[5:] + ids[:5])

    def test_a_replay_begins_at_its_time_and_has_what_comes_meanwhile(self):
        self.made(batch=3)
        self.earn(1)
        until("it is there", lambda: self.shown()["delivered"] == 1)
        time.sleep(0.02)
        since = time.time()
        time.sleep(0.02)
        ids = self.earn(*range(2, 12))
        until("all are there", lambda: self.shown()["delivered"] == 11)
        before = len(self.receiver.requests(self.path))
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since)) + f".{int(since * 1000) % 1000:03}Z"
        answer = self.control("POST", "/replay", {"since": stamp})
        self.assertEqual(answer.status, 202, answer.text)
        ids += self.earn(*range(20, 30))
        until("all are there again", lambda: self.shown()["delivered"] == 11 + 20)
        again = [event["id"] for request in self.receiver.requests(self.path)[before:] for event in json.loads(request.body)]
        self.assertEqual(again, ids)
        for wrong in ("yesterday", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))):
            self.assertEqual(self.control("POST", "/replay", {"since": wrong}).status, 400)
        self.assertNotIn("replaying", self.shown())

    def test_a_replay_waits_in_the_log_for_room(self):
        self.made()
        self.receiver.behave(self.path, seconds=0.01)
        ids = self.earn(*range(20))
        until("all are there", lambda: self.shown()["delivered"] == 20)
        ids += self.earn(*range(20, 40))
        until("all are there", lambda: self.shown()["delivered"] == 40)
        dead = self.shown()["dead"]
        self.control("POST", "/pause")
        self.assertEqual(self.control("POST", "/replay", {"since": "2020-01-01T00:00:00Z"}).status, 202)
        until("the queue is full", lambda: self.shown()["depth"] == 20)
        self.control("POST", "/resume")
        until("all are there again", lambda: self.shown()["delivered"] == 80)
        self.assertEqual((self.got()[40:], self.shown()["dead"]), (ids, dead))

    def test_one_that_hangs_slows_no_other(self):
        self.made()
        self.receiver.behave(self.path, ending="hang")
        self.earn(1)
        until("it hangs", lambda: self.receiver.requests(self.path))
        self.id = self.id + "-quick"
        self.path = f"/{self.id}"
        self.made()
        began = time.monotonic()
        self.wait_for(self.earn(2))
        self.assertLess(time.monotonic() - began, 1)

    def test_connections_are_used_again(self):
        self.made()
        self.wait_for(self.earn(0))
        before = self.receiver.connections
        for oid in range(1, 6):
            self.earn(oid)
        until("all arrive", lambda: len(self.got()) == 6)
        self.assertLessEqual(self.receiver.connections - before, 1)


class Restarts(WithSubscribers):
    def test_a_gateway_that_is_killed_goes_on_where_it_was(self):
        self.made()
        self.receiver.behave(self.path, status=500)
        ids = self.earn(1, 2, 3)
        failing = self.wait_for_state("failing")
        self.served.kill()
        self.served.start()
        self.assertEqual(self.shown()["state"], failing["state"])
        self.receiver.behave(self.path)
        ids += self.earn(4)
        until("all arrive", lambda: set(self.got()) == set(ids))
        seen = list(dict.fromkeys(self.got()))
        self.assertEqual(seen, ids, "in order, up to repeats")
        metrics = call(self.served.admin, "GET", "/metrics").text
        self.assertIn("heartline_subscribers_delivered_total", metrics)
