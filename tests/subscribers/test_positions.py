"""Positions, and what was deleted, at a subscriber."""

import json
import time

from subscribers.served import REWARD, WithSubscribers
from wire.http import call, control
from wire.patience import until

POSITION, FORGOTTEN = "dev.heartline.position.v1", "dev.heartline.forgotten.v1"
BOTH = [POSITION, FORGOTTEN]


class Positions(WithSubscribers):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.control, "DELETE")

    def beat(self, oid, pos=1_000, state="playing", session=7, user=None, kind=1):
        now = time.time_ns() // 1_000_000
        item = {
            "kind": kind, "oid": str(oid), "pos": pos, "dur": 60_000, "state": state, "session": str(session), "at": now,
            "watched": 1,
        }
        answer = call(self.served.http, "POST", "/v1/beats", mid=user or self.user, body={"items": [item]})
        self.assertEqual((answer.status, answer.json()["rejected"]), (200, []), answer.text)
        return now

    def told(self):
        """Type and data of what was confirmed, in its order."""
        requests = [request for request in self.receiver.requests(self.path) if 200 <= request.status < 300]
        events = [json.loads(request.body) for request in requests]
        return [(event["type"], event["data"]) for event in events]

    def wait_for_told(self, count):
        until(f"{count} events arrive", lambda: len(self.told()) >= count)
        told = self.told()
        self.assertEqual(len(told), count, told)
        return told

    def in_log(self):
        events = control(self.served, "GET", "/v1/events?log=positions&limit=1000").json()["events"]
        return [entry["event"] for entry in events if entry["event"]["subject"] == str(self.user)]

    def erase(self):
        answer = control(self.served, "POST", "/v1/erase", {"mid": str(self.user)})
        self.assertEqual(answer.status, 204, answer.text)

    def test_a_position_is_told_when_it_is_new_or_its_state_changes(self):
        self.made(types=BOTH)
        first = self.beat(100)
        [(kind, data)] = self.wait_for_told(1)
        expected = {
            "mid": str(self.user), "kind": 1, "oid": "100", "pos": 1_000, "dur": 60_000, "state": "playing",
            "session": "7", "device": "", "watched": 1, "at": first, "cause": "beat",
        }
        self.assertEqual((kind, data), (POSITION, expected))
        self.beat(100, pos=2_000)
        self.beat(100, pos=3_000, state="paused")
        told = self.wait_for_told(2)
        self.assertEqual((told[1][1]["pos"], told[1][1]["state"]), (3_000, "paused"))
        [event, last] = self.in_log()
        self.assertEqual(event["id"], f"{self.user}:1:100:{first * 1_000}")
        self.assertEqual((event["partitionkey"], last["data"]["state"]), (str(self.user), "paused"))
        self.served.settings["CONTROL__LISTEN"] = self.served.control.removeprefix("http://")
        self.assertIn(f'"id":"{event["id"]}"', self.served.run("events", "--log", "positions"))
        self.assertNotIn(POSITION, self.served.run("events"))

    def test_what_was_deleted_is_told(self):
        self.made(types=BOTH)
        for oid in (1, 2, 3):
            self.beat(oid)
        self.wait_for_told(3)
        now = time.time_ns() // 1_000_000
        for path in ("/1/1", ""):
            answer = call(self.served.http, "DELETE", f"/v1/history{path}?at={now}", mid=self.user)
            self.assertEqual(answer.status, 204, answer.text)
        self.erase()
        told = [(kind, data["cause"], data.get("items")) for kind, data in self.wait_for_told(6)[3:]]
        self.assertEqual(
            told,
            [
                (FORGOTTEN, "delete", [{"kind": 1, "oid": "1"}]),
                (FORGOTTEN, "clear", None),
                (FORGOTTEN, "erase", None),
            ],
        )
        ids = [event["id"] for event in self.in_log()]
        self.assertEqual(len(set(ids)), len(ids))

    def test_a_filter_chooses_contents(self):
        self.made(types=[POSITION], filter={"contents": ["1:5"], "mids": [str(self.user)]})
        for oid in (4, 5, 6):
            self.beat(oid)
        [(_, data)] = self.wait_for_told(1)
        self.assertEqual(data["oid"], "5")

    def test_each_type_is_written_only_while_it_is_followed(self):
        self.made(types=[REWARD])
        # What another test has followed is known to be over.
        time.sleep(1)
        self.beat(1)
        self.erase()
        self.made_again(types=[FORGOTTEN])
        self.beat(2)
        self.erase()
        until("the forgetting is in the log", lambda: self.in_log())
        self.assertEqual(self.control("DELETE").status, 204)
        time.sleep(1)
        self.beat(3)
        self.erase()
        time.sleep(1)
        self.assertEqual([event["type"] for event in self.in_log()], [FORGOTTEN])

    def test_a_replay_brings_both_logs(self):
        self.made(types=[REWARD, *BOTH])
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.earn(1)
        self.wait_for_told(2)
        self.erase()
        before = self.wait_for_told(3)
        answer = self.control("POST", "/replay", {"since": since})
        self.assertEqual(answer.status, 202, answer.text)
        replayed = self.wait_for_told(6)[3:]
        key = lambda one: json.dumps(one, sort_keys=True)
        self.assertEqual(sorted(replayed, key=key), sorted(before, key=key))

    def test_an_unknown_log_is_refused_by_name(self):
        answer = control(self.served, "GET", "/v1/events?log=other")
        self.assertEqual((answer.status, answer.json()["detail"]), (400, 'log: must be "rewards" or "positions"'))

    def made_again(self, **fields):
        answer = self.put(**fields)
        self.assertEqual(answer.status, 200, answer.text)
