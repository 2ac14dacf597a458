"""Gateways of the role gateway alone: nothing brings events to subscribers, and the list says so."""

import shutil
import tempfile
import time
import unittest
from pathlib import Path

from python.served import BINARY
from tiers.redis_server import SINGLE, Redis
from wire.gateway import Gateway
from wire.http import control

# Where the cascade keeps its last look at the event bus.
MARKS, LOOKED = "{h0}:qk", "looked"


class GatewayAlone(Gateway):
    words = ("serve", "--role", "gateway")


class WithoutCascade(unittest.TestCase):
    def setUp(self):
        scratch = Path(tempfile.mkdtemp(prefix="heartline-without-cascade-"))
        self.addCleanup(shutil.rmtree, scratch)
        self.redis = Redis(SINGLE, scratch / "redis")
        self.addCleanup(self.redis.stop)
        settings = {
            "STORE__HOT_STORE": "redis",
            "REDIS__URL": self.redis.start().url,
            "EVENTS__EVENT_BUS": "kafka",
            # No broker is there, and none is needed.
            "KAFKA__BROKERS": '["127.0.0.1:1"]',
        }
        self.gateway = GatewayAlone(BINARY, scratch / "data", scratch / "log", **settings)
        self.addCleanup(self.gateway.kill)
        self.gateway.run("init")
        self.gateway.start()

    def cascade(self):
        listed = control(self.gateway, "GET", "/v1/subscribers")
        self.assertEqual(listed.status, 200, listed.text)
        return listed.json()["cascade"]

    def warning(self):
        self.gateway.settings["CONTROL__LISTEN"] = self.gateway.control.removeprefix("http://")
        listed = self.gateway.completed("subscribers", "list")
        self.assertEqual(listed.stdout, "")
        return listed.stderr

    def keep_look(self, seconds_ago):
        """As a cascade that then ended."""
        at = int((time.time() - seconds_ago) * 1_000)
        self.redis.nodes[0].cli("HSET", MARKS, LOOKED, str(at))
        return at

    def test_the_list_tells_that_no_cascade_looks_at_the_bus(self):
        self.assertEqual(self.cascade(), {"away": True})
        self.assertIn("warning: no cascade has ever looked at the event bus", self.warning())
        at = self.keep_look(seconds_ago=0)
        self.assertEqual((self.cascade(), self.warning()), ({"looked_at": at, "away": False}, ""))
        at = self.keep_look(seconds_ago=62)
        self.assertEqual(self.cascade(), {"looked_at": at, "away": True})
        self.assertIn("warning: no cascade has looked at the event bus since 20", self.warning())
