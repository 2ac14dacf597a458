"""docs/consumer.py: the points are right whatever happens to the consumer and to the log."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from wire.patience import PATIENCE_SECONDS

CONSUMER = Path(__file__).parents[2] / "docs" / "consumer.py"
KILLS = 20
NEW_BEFORE_A_START = 20
CREDITS_BEFORE_A_KILL_MAX = 12


class FakeLog:
    """Answers /v1/events as the protocol says."""

    def __init__(self):
        self.id = "a" * 32  # None: a gateway that says none
        self.events = []
        self.first = 1  # older ones are gone
        self.page_max = 1000
        self.delay = 0
        self.cuts = 0  # so many answers end in their middle
        self.unavailable = 0  # so many are 503
        self.token = None  # what callers must show
        self.asked = []
        self.more = threading.Condition()
        log = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                log.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def wipe(self):
        self.id, self.events, self.first = "b" * 32, [], 1

    def add(self, *events):
        with self.more:
            self.events += events
            self.more.notify_all()

    def answer(self, handler):
        if self.token and handler.headers["Authorization"] != f"Bearer {self.token}":
            handler.send_error(401)
            return
        url = urllib.parse.urlsplit(handler.path)
        asked = {name: int(value) for name, value in urllib.parse.parse_qsl(url.query)}
        with self.more:
            self.asked.append(asked["after"])
            beyond_end = asked["after"] > len(self.events)
            self.more.wait_for(lambda: beyond_end or len(self.events) > asked["after"], asked["wait"] / 1000)
            begin = max(asked["after"] + 1, self.first)
            end = min(begin + min(asked["limit"], self.page_max), len(self.events) + 1)
            entries = [{"offset": offset, "event": self.events[offset - 1]} for offset in range(begin, end)]
            cut, self.cuts = self.cuts > 0, max(self.cuts - 1, 0)
            unavailable, self.unavailable = self.unavailable > 0, max(self.unavailable - 1, 0)
        time.sleep(self.delay)
        following = 0 if beyond_end else entries[-1]["offset"] if entries else asked["after"]
        page = {"events": entries, "next": following}
        if self.id:
            page.update({"log": self.id, "newest": len(self.events)})
            page.update({"beyond_end": True} if beyond_end else {})
        body = json.dumps(page).encode()
        try:
            handler.send_response(503 if unavailable else 200 if url.path == "/v1/events" else 404)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[: len(body) // 2] if cut else body)
        except OSError:
            pass  # it was killed


def event(mid, day=20, oid=None):
    rule = "first-view" if oid else "first-of-day"
    behind = f":1:{oid}" if oid else ""
    data = {"rule": rule, "mid": str(mid), "day": f"2026-11-{day}", "zone": "UTC", "kind": 1, "oid": str(oid or 100),
            "session": "7", "device": "tv", "watched": 5000, "claimed_at": 1795150000118}
    return {"specversion": "1.0", "id": f"{rule}:2026-11-{day}:{mid}{behind}", "source": "/heartline/local",
            "type": "dev.heartline.reward.v1", "subject": str(mid), "time": "2026-11-20T04:46:40.118Z",
            "datacontenttype": "application/json", "partitionkey": str(mid), "data": data}


class Consumer(unittest.TestCase):
    def setUp(self):
        scratch = Path(tempfile.mkdtemp(prefix="heartline-consumer-"))
        self.addCleanup(shutil.rmtree, scratch)
        self.database = scratch / "points.db"
        self.log = FakeLog()
        self.addCleanup(self.log.close)

    def command(self, *arguments):
        return [sys.executable, CONSUMER, "--url", self.log.url, "--database", self.database, *arguments]

    def run_once(self, *arguments):
        command = self.command("--once", *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start(self, *arguments):
        child = subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def points(self):
        with sqlite3.connect(self.database) as database:
            return dict(database.execute("SELECT mid, SUM(points) FROM credit GROUP BY mid"))

    def wait_for(self, points):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            try:
                if self.points() == points:
                    return
            except sqlite3.OperationalError:
                pass  # not made yet, or being written
            time.sleep(0.02)
        self.assertEqual(self.points(), points)

    def test_the_consumer_sends_the_kept_control_token(self):
        self.log.token = "a-control-token-of-the-tests-0123456789"
        self.log.add(event(42))
        file = self.database.with_name("control-token")
        for wrong in (None, "another-token"):
            if wrong:
                file.write_text(wrong)
            command = self.command("--once", "--token-file", file)
            refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual((refused.returncode, refused.stderr.count("\n")), (1, 1), refused.stderr)
            self.assertIn(str(file), refused.stderr)
        file.write_text(f"{self.log.token}\n")
        self.run_once("--token-file", file)
        self.assertEqual(self.points(), {"42": 10})

    def test_a_claim_is_credited_and_printed(self):
        self.log.add(event(42), event(42, oid=100), event(2**64 - 1))
        told = self.run_once()
        self.assertEqual(self.points(), {"42": 12, str(2**64 - 1): 10})
        self.assertIn("first-of-day:2026-11-20:42: +10 for user 42, who has 12\n", told)
        self.assertIn("user 42: 12\n", told)

    def test_an_event_that_comes_twice_is_credited_once(self):
        self.log.add(event(42), event(42), event(43))
        self.run_once()
        self.log.add(event(42), event(43, day=21))
        self.run_once()
        self.assertEqual(self.points(), {"42": 10, "43": 20})

    def test_a_replay_changes_nothing(self):
        self.log.page_max = 7
        self.log.add(*(event(mid % 5, day=10 + mid // 5) for mid in range(50)))
        self.run_once()
        before = self.points()
        self.log.asked.clear()
        self.assertNotIn("+10", self.run_once("--replay"))
        self.assertEqual(self.log.asked[0], 0)
        self.assertEqual(self.points(), before)
        self.assertEqual(before, {str(mid): 100 for mid in range(5)})

    def test_the_consumer_continues_at_its_last_offset(self):
        self.log.add(event(1), event(2))
        self.run_once()
        self.log.add(event(3))
        self.log.asked.clear()
        self.run_once()
        self.assertEqual(self.log.asked, [2, 3])
        self.assertEqual(self.points(), {"1": 10, "2": 10, "3": 10})

    def test_points_are_right_after_any_number_of_kills(self):
        self.log.page_max, self.log.delay = 5, 0.002
        dice, expected, interrupted = random.Random(5), Counter(), 0
        for kill in range(KILLS):
            # There is always more to credit than is waited for.
            for number in range(kill * NEW_BEFORE_A_START, (kill + 1) * NEW_BEFORE_A_START):
                mid = number % 100
                # Every third comes twice.
                self.log.add(*[event(mid, oid=number + 1)] * (2 if number % 3 == 0 else 1))
                expected[str(mid)] += 2
            child = self.start(*(["--replay"] if kill == 6 else []))
            for _ in range(dice.randint(1, CREDITS_BEFORE_A_KILL_MAX)):
                child.stdout.readline()
            self.assertIsNone(child.poll(), "it ended by itself")
            child.kill()
            child.communicate()
            interrupted += self.points() != expected
        self.assertGreater(interrupted, KILLS // 5, "it was through before it was killed")
        self.log.delay, self.log.page_max = 0, 1000
        self.run_once()
        self.assertEqual(self.points(), expected)

    def test_the_consumer_follows_a_log_that_breaks_off(self):
        self.log.cuts, self.log.unavailable = 2, 1
        self.log.add(event(1))
        child = self.start()
        self.wait_for({"1": 10})
        self.log.cuts = 1
        self.log.add(event(2), event(2))
        self.wait_for({"1": 10, "2": 10})
        self.assertIsNone(child.poll())

    def test_events_of_other_types_are_passed_over(self):
        self.log.add({**event(1), "type": "dev.heartline.other.v1", "data": {}}, event(2))
        self.run_once()
        self.assertEqual(self.points(), {"2": 10})

    def test_a_gap_is_reported(self):
        self.log.add(*(event(mid) for mid in range(9)))
        self.run_once()
        self.log.add(*(event(mid) for mid in range(9, 15)))
        self.log.first = 13
        done = subprocess.run(self.command("--once"), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertIn("offsets 10 to 12 are gone", done.stderr)
        self.assertEqual(set(self.points()), {str(mid) for mid in [*range(9), 12, 13, 14]})

    def test_the_consumer_starts_over_when_the_log_is_another_one(self):
        self.log.add(event(1), event(2), event(3))
        self.run_once()
        self.log.wipe()
        # As many as before and one more: by its offset alone the consumer would take the last one only.
        self.log.add(event(3), *(event(mid) for mid in range(4, 7)))
        done = subprocess.run(self.command("--once"), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertIn("the log id has changed", done.stderr)
        self.assertEqual(self.points(), {str(mid): 10 for mid in range(1, 7)})
        self.log.asked.clear()
        self.run_once()
        self.assertEqual(self.log.asked, [4], "once")

    def test_the_consumer_starts_over_when_its_offset_is_beyond_the_end(self):
        self.log.add(event(1), event(2), event(3))
        self.run_once()
        child = self.start()
        self.wait_for({str(mid): 10 for mid in (1, 2, 3)})
        self.log.wipe()
        self.log.add(event(4))
        self.wait_for({str(mid): 10 for mid in (1, 2, 3, 4)})
        self.assertIsNone(child.poll())

    def test_a_database_of_an_earlier_version_is_taken_over(self):
        with sqlite3.connect(self.database) as database:
            database.execute("CREATE TABLE place (only INTEGER PRIMARY KEY CHECK (only = 1), after INTEGER NOT NULL)")
            database.execute("INSERT INTO place VALUES (1, 2)")
        self.log.add(event(1), event(2), event(3))
        self.run_once()
        self.assertEqual(self.log.asked[0], 2)
        self.assertEqual(self.points(), {"3": 10})
        self.log.wipe()
        self.log.add(event(4), event(5), event(6), event(7))
        self.run_once()
        self.assertEqual(self.points(), {str(mid): 10 for mid in (3, 4, 5, 6, 7)})

    def test_a_gateway_that_does_not_name_its_log_is_followed(self):
        self.log.id = None
        self.log.add(event(1))
        self.run_once()
        self.log.add(event(2))
        self.run_once()
        self.assertEqual(self.points(), {"1": 10, "2": 10})

    def test_without_a_log_the_consumer_ends_with_one_line(self):
        self.log.close()
        done = subprocess.run(self.command("--once"), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
