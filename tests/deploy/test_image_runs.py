"""What is in the image runs alone: as whatever user, probed from outside, and with the certificates that it needs."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from deploy import image_tree
from subscribers.authority import Authority
from subscribers.receiver import Receiver
from subscribers.served import REWARD, RULES
from wire.http import call, control
from wire.patience import PATIENCE_SECONDS, until

# Where the code looks for the certificates of public authorities.
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
OF_THE_IMAGE = (65532, 65532)
# A platform chooses such a user, and group 0.
OF_A_PLATFORM = (1_000_660_000, 0)


class ImageRuns(unittest.TestCase):
    def setUp(self):
        image_tree.needs_root(self)
        self.scratch = Path(tempfile.mkdtemp(prefix="heartline-image-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.scratch.chmod(0o755)
        self.tree = self.scratch / "tree"
        self.tree.mkdir()
        image_tree.build(self.tree)

    def started(self, user=OF_THE_IMAGE, **settings):
        gateway = image_tree.Contained(self.tree, self.scratch / "log", *user, **settings)
        self.addCleanup(gateway.kill)
        return gateway.start()

    def put_and_read(self, gateway):
        """A position, which is on disk then."""
        now = time.time_ns() // 1_000_000
        item = {"kind": 1, "oid": "7", "pos": 1, "state": "playing", "session": "1", "at": now}
        put = call(gateway.http, "POST", "/v1/beats", mid=42, body={"items": [item]})
        self.assertEqual((put.status, put.json()["rejected"]), (200, []), put.text)
        return put.json()["rewards"]

    def test_it_serves_as_its_own_user_and_as_one_that_a_platform_chooses(self):
        for user in (OF_THE_IMAGE, OF_A_PLATFORM):
            with self.subTest(user=user):
                image_tree.empty(self.tree)
                gateway = self.started(user)
                self.put_and_read(gateway)
                self.assertEqual(gateway.stop(), 0, gateway.stderr())

    def test_as_process_1_it_ends_at_once_while_it_waits_for_redis(self):
        """The kernel lets process 1 ignore each signal that it does not take itself."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            settings = {"STORE__HOT_STORE": "redis", "REDIS__URL": f"redis://127.0.0.1:{silent.getsockname()[1]}"}
            contained = image_tree.Contained(self.tree, self.scratch / "log", *OF_THE_IMAGE, **settings)
            command = ["unshare", "--pid", "--fork", "--kill-child", *contained.command()]
            outside = subprocess.Popen(command, env=contained.environment(), stderr=subprocess.DEVNULL)
            self.addCleanup(outside.kill)
            silent.accept()
            [first] = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
            for sent in (signal.SIGHUP, signal.SIGTERM):
                os.kill(int(first), sent)
            self.assertEqual(outside.wait(PATIENCE_SECONDS), 0)

    def test_a_user_without_the_group_is_refused(self):
        """Else the test above would prove nothing."""
        gateway = image_tree.Contained(self.tree, self.scratch / "log", 1_000_660_000, 1_000_660_000)
        self.addCleanup(gateway.kill)
        with self.assertRaises(Exception) as refused:
            gateway.start()
        self.assertIn("/var/lib/heartline", str(refused.exception))

    def test_probes_are_answered_on_every_address(self):
        gateway = self.started(OF_A_PLATFORM)
        outside = gateway.admin.replace("0.0.0.0", "127.0.0.2")
        self.assertNotEqual(outside, gateway.admin)
        self.assertEqual(call(outside, "GET", "/readyz").status, 200)
        self.assertIn("heartline_ready", call(outside, "GET", "/metrics").text)

    def test_the_authorities_of_the_public_web_are_trusted(self):
        gateway = self.started()
        self.assertNotIn("no_trusted_certificates", gateway.stderr())
        self.assertEqual((self.tree / BUNDLE).read_bytes(), Path("/", BUNDLE).read_bytes())

    def test_a_webhook_is_delivered_over_tls_to_an_authority_of_the_bundle(self):
        authority = Authority(self.scratch / "authority")
        # Appended, as an operator would who mounts a bundle of their own.
        with open(self.tree / BUNDLE, "r+b") as bundle:
            bundle.seek(0, 2)
            bundle.write(authority.certificate.read_bytes())
        receiver = Receiver(tls=authority.server("IP:127.0.0.1"))
        self.addCleanup(receiver.end)
        gateway = self.started(OF_A_PLATFORM, SUBSCRIBERS__ALLOW_NETWORKS='["127.0.0.1/32"]', REWARDS__RULES=RULES)
        body = {"url": receiver.url("/hook"), "types": [REWARD]}
        self.assertEqual(control(gateway, "PUT", "/v1/subscribers/loyalty", body).status, 201)
        [reward] = self.put_and_read(gateway)
        until("it is delivered", lambda: receiver.requests("/hook") or shown_error(gateway))
        self.assertIsNone(shown_error(gateway))
        [request] = receiver.requests("/hook")
        self.assertEqual(request.headers["webhook-id"], reward["id"])


def shown_error(gateway):
    """Of the last try that failed."""
    return control(gateway, "GET", "/v1/subscribers/loyalty").json().get("last_error")
