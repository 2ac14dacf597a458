"""Where deliveries may go by their URL: to public addresses with TLS, and to what the settings allow."""

import json

from subscribers.network import EMPTY, INSIDE, OPEN, InANetwork
from subscribers.receiver import Receiver
from subscribers.served import WithSubscribers
from wire.patience import until

# What is refused in a URL, however it is written.
NOT_PUBLIC = (
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
    # Decimal, octal, hexadecimal, short, of other scripts, encoded.
    "2130706433", "017700000001", "0x7f000001", "0177.0.0.1", "0x7F.1", "127.1", "127.0.0.1.", "0", "2852039166",
    "0xa9.0xfe.0xa9.0xfe", "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "%31%32%37.0.0.1",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[fd00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]",
    # IPv4 within IPv6.
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:a00:1::]",
)
PUBLIC = (
    "93.184.215.14", "1572394766", "0x5d.0xb8.0xd7.0xe", "172.15.255.255", "172.32.0.1", "11.0.0.1", "[::ffff:93.184.215.14]",
    "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", "hooks.example.com",
)


class OnTheInternet(WithSubscribers):
    """As it is without settings."""

    settings = {name: value for name, value in WithSubscribers.settings.items() if "ALLOW" not in name}

    def refused(self, url):
        """Why, as it is told."""
        answer = self.put(url=url)
        self.assertEqual((answer.status, answer.json()["type"]), (400, "/problems/invalid"), f"{url}: {answer.text}")
        return answer.json()["detail"]

    def test_addresses_inside_are_refused_however_they_are_written(self):
        for host in NOT_PUBLIC:
            for url in (f"https://{host}/hook", f"https://{host}:8443/hook"):
                self.assertIn("url: must not be at an address that is not public", self.refused(url), url)
        self.assertEqual(self.control("GET").status, 404)

    def test_public_addresses_and_names_are_taken(self):
        for host in PUBLIC:
            for url in (f"https://{host}/", f"https://{host}:8443/a?b=c"):
                self.assertIn(self.put(url=url).status, (200, 201), url)

    def test_what_is_no_url_for_deliveries_is_refused(self):
        for url in ("http://example.com/", "http://localhost/", "http://93.184.215.14/", "ftp://example.com/", "hook"):
            self.refused(url)
        self.assertIn("subscribers.allow_http", self.refused("http://example.com/"))

    def test_a_user_is_refused_and_not_repeated(self):
        for user in ("somebody", "somebody:word", ":word", "127.0.0.1", "example.com"):
            detail = self.refused(f"https://{user}@example.com/")
            self.assertIn("must not have a user", detail)
            self.assertNotIn("word@", detail)

    def test_a_present_subscriber_stays_as_it_is(self):
        before = self.made(url="https://example.com/hook")
        self.refused("https://10.0.0.1/")
        self.assertEqual(self.shown()["url"], before["url"])

    def test_a_name_of_this_machine_is_refused_when_it_is_called(self):
        receiver = Receiver()
        self.addCleanup(receiver.end)
        names = {}
        for name in ("localhost", "LOCALHOST.", "inner.localhost"):
            self.take_another()
            self.made(url=receiver.url(host=name, scheme="https"))
            names[self.id] = name
        self.earn(1)
        for self.id, name in names.items():
            self.assertEqual(self.wait_for_state("failing")["last_error"]["reason"], "refused_address", name)
        self.assertEqual(receiver.connections, 0)


class Allowed(InANetwork):
    def test_an_address_that_is_allowed_is_reached_in_every_form(self):
        paths = []
        for host in (OPEN, "2130706433", "0x7f.1", "127.1", f"[::ffff:{OPEN}]"):
            self.take_another()
            self.made(url=self.receiver.url(self.path, host=host))
            paths.append(self.path)
        ids = self.earn(1)
        for path in paths:
            self.wait_for(ids, path)

    def test_its_neighbours_are_refused(self):
        for host in (INSIDE, "127.0.0.0", "2130706434", f"[::ffff:{INSIDE}]", f"[64:ff9b::{INSIDE}]", "[::1]", "10.0.0.1"):
            answer = self.put(url=self.receiver.url(host=host))
            self.assertEqual((answer.status, answer.json()["type"]), (400, "/problems/invalid"), host)


class OtherSettings(InANetwork):
    def test_what_was_accepted_under_other_settings_is_refused_at_delivery(self):
        refused = {}
        for url, reason in (
            (self.receiver.url(host=EMPTY, scheme="https"), "refused_address"),
            (self.receiver.url(self.path), "tls"),
        ):
            self.take_another()
            self.made(url=url)
            refused[self.id] = reason
            self.control("POST", "/pause")
        self.earn(1)
        for self.id in refused:
            until("it is queued", lambda: self.shown()["depth"] == 1)
        settings = {"SUBSCRIBERS__ALLOW_HTTP": "false", "SUBSCRIBERS__ALLOW_NETWORKS": json.dumps([f"{OPEN}/32"])}
        self.served.kill()
        self.served.settings |= settings
        self.served.start()
        for self.id, reason in refused.items():
            self.control("POST", "/resume")
            self.has_failed(reason)
        self.assertEqual(self.receiver.requests(self.path), [])
