"""A gateway of its own for each test class, and a user of its own for each test."""

import asyncio
import itertools
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from wire.client import Client
from wire.gateway import Gateway

BINARY = Path(os.environ["HEARTLINE_BIN"])

_mids = itertools.count(1000)


class Scratch(unittest.IsolatedAsyncioTestCase):
    """A directory that goes with the test, and gateways that do."""

    async def asyncSetUp(self):
        # A gateway is started and waited for within the test: that is no slow callback to warn of.
        asyncio.get_running_loop().slow_callback_duration = 60

    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="heartline-python-"))
        self.addCleanup(shutil.rmtree, self.scratch)

    def gateway(self, data_dir=None, **settings):
        """Not started yet; killed at the end whatever happens."""
        gateway = Gateway(BINARY, data_dir or self.scratch / "data", self.scratch / "log", **settings)
        self.addCleanup(gateway.kill)
        return gateway


class Served(unittest.IsolatedAsyncioTestCase):
    """One running gateway for all tests of the class."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="heartline-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.served = Gateway(BINARY, cls.scratch / "data", cls.scratch / "log", **cls.settings)
        cls.addClassCleanup(cls.served.kill)
        cls.served.start()

    def setUp(self):
        self.mid = next(_mids)

    async def client(self, mid=None, **options):
        client = await Client.open(self.served, mid or self.mid, **options)
        self.addAsyncCleanup(client.socket.close)
        return client
