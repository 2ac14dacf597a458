"""A gateway in a network: one address has receivers, a name server and an authority are those of the test."""

import itertools
import json
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from subscribers.authority import Authority
from subscribers.names import Names
from subscribers.receiver import Receiver
from subscribers.served import WithSubscribers

# Both are allowed, but nothing is at the second.
OPEN, EMPTY = "127.0.0.1", "127.0.0.3"
# What no delivery may reach.
INSIDE = "127.0.0.2"

# The fields of a failure in the log.
LOGGED = {"timestamp", "level", "message", "event", "subscriber", "reason", "status", "target"}

_contents = itertools.count(1_000)


class InANetwork(WithSubscribers):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="heartline-python-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        cls.authority = Authority(cls.directory / "trusted")
        cls.names = cls.ended(Names())
        cls.settings = {
            **WithSubscribers.settings,
            "SUBSCRIBERS__ALLOW_NETWORKS": json.dumps([f"{OPEN}/32", f"{EMPTY}/32"]),
            "SUBSCRIBERS__DNS": cls.names.address,
            "SUBSCRIBERS__TLS_CA": cls.authority.certificate,
            "LOG__LEVEL": "debug",
            "LOG__FORMAT": "json",
        }
        super().setUpClass()
        # At the same port, so that one URL leads to either.
        cls.inside = cls.ended(Receiver(INSIDE, port=cls.receiver.port))

    @classmethod
    def ended(cls, server):
        """It ends with the class."""
        cls.addClassCleanup(server.end)
        return server

    def setUp(self):
        super().setUp()
        self.inside_before = self.inside.connections

    def tearDown(self):
        self.assertEqual(self.inside.connections, self.inside_before, "what is inside is not connected to")
        super().tearDown()

    def named(self, *turns):
        """A name of this subscriber that is told these."""
        name = f"{self.id}.example".lower().replace("_", "-")
        self.names.tell(name, *turns)
        return name

    def asked(self, name):
        """How often a name was looked up."""
        return [asked for asked, _ in self.names.asked].count(name)

    def all_fail(self, wanted):
        """A subscriber for each URL, and what its first try comes to: the reason, or the reason and the status. Then no
        more is tried."""
        made = {}
        for url, why in wanted.items():
            self.take_another()
            self.made(url=url)
            made[self.id] = why if isinstance(why, tuple) else (why, None)
        self.earn(next(_contents))
        for self.id, why in made.items():
            self.has_failed(*why)
            self.assertEqual(self.control("DELETE").status, 204)

    def has_failed(self, reason, status=None):
        shown = self.wait_for_state("failing")
        error = shown["last_error"]
        self.assertEqual((error["reason"], error.get("status"), shown["depth"]), (reason, status, 1), shown)
        self.tells_no_address(shown)

    def tells_no_address(self, shown):
        """Neither to who may see the subscriber, nor in the log."""
        self.assertLessEqual(set(shown["last_error"]), {"at", "status", "reason"})
        log = self.served.stderr()
        failures = [json.loads(line) for line in log.splitlines() if '"delivery_failed"' in line]
        self.assertIn(self.id, [failure["subscriber"] for failure in failures])
        for failure in failures:
            self.assertLessEqual(set(failure), LOGGED)
        for address in (INSIDE, f":{urlsplit(shown['url']).port}", ".example"):
            self.assertNotIn(address, log)
