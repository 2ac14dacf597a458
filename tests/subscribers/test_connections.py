"""What a connection may come to: certificates, redirects, answers without an end, and none at all."""

import socket
import time

from standardwebhooks import Webhook

from subscribers.authority import Authority
from subscribers.doorway import Doorway
from subscribers.network import OPEN, InANetwork
from subscribers.receiver import Receiver
from wire.patience import until

NAME = "receiver.example"
# Of one request (`subscribers.timeout`), and what a busy machine may add.
TIMEOUT_SECONDS, SLACK_SECONDS = 1, 9


class Connections(InANetwork):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.names.tell(NAME, OPEN)
        cls.trusted = cls.ended(Receiver(tls=cls.authority.server(f"DNS:{NAME}")))

    def test_a_receiver_with_a_trusted_certificate_gets_what_is_signed(self):
        secret = self.made(url=self.trusted.url(self.path, host=NAME))["secret"]
        ids = self.earn(1, 2)
        until("both arrive", lambda: self.shown()["delivered"] == 2)
        requests = self.trusted.requests(self.path)
        self.assertEqual([Webhook(secret).verify(request.body, request.headers)["id"] for request in requests], ids)

    def test_a_certificate_must_be_trusted_valid_and_of_that_name(self):
        stranger = self.ended(Receiver(tls=Authority(self.directory / "stranger").server(f"DNS:{NAME}")))
        over = self.ended(Receiver(tls=self.authority.server(f"DNS:{NAME}", is_over=True)))
        before = len(self.trusted.requests())
        self.names.tell(f"other.{NAME}", OPEN)
        self.all_fail({
            stranger.url(host=NAME): "tls",
            over.url(host=NAME): "tls",
            self.trusted.url(host=f"other.{NAME}"): "tls",
            self.trusted.url(host=OPEN): "tls",
        })
        self.assertEqual((stranger.requests(), over.requests(), len(self.trusted.requests())), ([], [], before))

    def test_a_redirect_is_not_followed(self):
        elsewhere = self.ended(Receiver())
        targets = [elsewhere.url("/target"), self.inside.url("/target"), self.receiver.url("/target"), "/target", ""]
        wanted = {}
        for status, target in zip((301, 302, 303, 307, 308), targets, strict=True):
            path = f"/redirect-{status}"
            self.receiver.behave(path, status=status, headers={"location": target})
            wanted[self.receiver.url(path)] = ("redirect", status)
        self.all_fail(wanted)
        self.assertEqual((elsewhere.connections, self.receiver.requests("/target")), (0, []))

    def test_an_answer_without_an_end_is_judged_by_its_status(self):
        receiver = self.ended(Receiver())
        delivered, wanted = [], {}
        for ending in ("endless", "drip"):
            receiver.behave(f"/good-{ending}", ending=ending)
            receiver.behave(f"/bad-{ending}", ending=ending, status=500)
            wanted[receiver.url(f"/bad-{ending}")] = ("status", 500)
            self.take_another()
            self.made(url=receiver.url(f"/good-{ending}"))
            delivered.append(self.id)
        began = time.monotonic()
        self.all_fail(wanted)
        for self.id in delivered:
            until("it is confirmed", lambda: self.shown()["delivered"] == 1)
            self.assertNotIn("last_error", self.shown())
        self.assertLess(time.monotonic() - began, TIMEOUT_SECONDS + SLACK_SECONDS)
        until("their connections are closed", lambda: receiver.open == 0)

    def test_a_head_without_an_end_is_a_failure(self):
        receiver = self.ended(Receiver())
        receiver.behave("/head", ending="endless-head")
        began = time.monotonic()
        self.all_fail({receiver.url("/head"): "connect"})
        self.assertLess(time.monotonic() - began, TIMEOUT_SECONDS + SLACK_SECONDS)

    def test_what_never_answers_ends_with_the_timeout(self):
        doorway = self.ended(Doorway())
        self.receiver.behave("/hangs", ending="hang")
        began = time.monotonic()
        self.all_fail({
            self.receiver.url("/hangs"): "timeout",
            f"http://{OPEN}:{doorway.port}/": "timeout",
            f"https://{OPEN}:{doorway.port}/": "timeout",
        })
        self.assertGreaterEqual(time.monotonic() - began, TIMEOUT_SECONDS)
        self.assertLess(time.monotonic() - began, TIMEOUT_SECONDS + SLACK_SECONDS)
        until("their connections are closed", lambda: doorway.open == 0)

    def test_a_closed_port_is_told(self):
        with socket.socket() as closed:
            closed.bind((OPEN, 0))
            address = f"{OPEN}:{closed.getsockname()[1]}"
            self.all_fail({f"http://{address}/": "connect", f"https://{address}/": "connect"})

    def test_connections_that_are_never_finished_are_given_up(self):
        """The second of two requests begins a connection, and goes out on that of the first when this is free."""
        doorway = self.ended(Doorway(self.trusted, lets_pass=1))
        made = []
        for _ in range(2):
            self.take_another()
            self.trusted.behave(self.path, seconds=0.2)
            self.made(url=f"https://{NAME}:{doorway.port}{self.path}")
            made.append(self.id)
        for content in range(3):
            self.earn(content)
            for self.id in made:
                until("it is delivered", lambda: self.shown()["delivered"] == content + 1)
        until("a connection is begun and not needed", lambda: doorway.stopped)
        until("all are given up", lambda: doorway.open == 0, seconds=TIMEOUT_SECONDS + SLACK_SECONDS)
