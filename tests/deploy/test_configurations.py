"""The configuration files: each is taken by the program that it is for."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from deploy.files import ROOT, directives, presets
from wire.patience import PATIENCE_SECONDS, until
from wire.ports import quiet_port

LOOPBACK = "127.0.0.1:1"
# What a gateway asks for before it serves.
ASKED = {
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "maxmemory-policy": "noeviction",
    "save": "",
}
# Values that Redis says in other words than the file.
IN_BYTES = {"mb": 1 << 20, "gb": 1 << 30}


class HAProxy(unittest.TestCase):
    def test_haproxy_accepts_its_configurations(self):
        for names in (["haproxy.cfg"], ["demo.cfg"], ["haproxy.cfg", "fleet.cfg"]):
            paths = [ROOT / "deploy/haproxy" / name for name in names]
            # Names of containers mean nothing here.
            hosts = {key: LOOPBACK for path in paths for key, value in presets(path).items() if ":" in value}
            command = ["haproxy", "-c", "-dW", *(word for path in paths for word in ("-f", path))]
            checked = subprocess.run(command, env={**os.environ, **hosts}, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual(checked.returncode, 0, checked.stderr)


class Redis(unittest.TestCase):
    def config_of(self, *further):
        """What a server says of itself that was started with the file, and these arguments after it."""
        with tempfile.TemporaryDirectory() as scratch:
            socket = Path(scratch) / "socket"
            where = ["--port", "0", "--unixsocket", socket, "--dir", scratch]
            file = ROOT / "deploy/redis/redis.conf"
            command = ["redis-server", file, *where, *further]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
                try:
                    until("Redis listens, or has ended", lambda: socket.exists() or server.poll() is not None)
                    self.assertIsNone(server.poll(), command)
                    asked = ["redis-cli", "-s", socket, "config", "get", "*"]
                    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
                finally:
                    server.kill()
            return dict(zip(lines[::2], lines[1::2]))

    def test_redis_takes_the_settings_of_the_file(self):
        held = self.config_of()
        said = directives(ROOT / "deploy/redis/redis.conf")
        self.assertEqual({name: held[name] for name in ASKED}, ASKED)
        for name, value in said.items():
            if name in ("save", "port", "client-output-buffer-limit"):
                continue
            if value[-2:] in IN_BYTES:
                value = str(int(value[:-2]) * IN_BYTES[value[-2:]])
            self.assertEqual(held[name], value, name)

    def test_a_cluster_node_takes_the_additional_settings(self):
        held = self.config_of("--include", str(ROOT / "deploy/redis/cluster.conf"), "--port", str(quiet_port()))
        self.assertEqual({name: held[name] for name in ASKED}, ASKED)
        for name, value in directives(ROOT / "deploy/redis/cluster.conf").items():
            self.assertEqual(held[name], value, name)
