"""Where deliveries may go by what their name leads to."""

from subscribers.network import EMPTY, INSIDE, OPEN, InANetwork
from wire.patience import until


class NamesOfEndpoints(InANetwork):
    def at(self, *turns):
        """The URL of a receiver by a name that is told these."""
        return self.receiver.url(self.path, host=self.named(*turns))

    def test_a_name_of_an_allowed_address_is_reached(self):
        url = self.at(OPEN)
        self.made(url=url)
        self.wait_for(self.earn(1))
        [request] = self.receiver.requests(self.path)
        self.assertEqual(request.headers["host"], url.split("/")[2])

    def test_a_name_of_an_address_inside_is_not_connected_to(self):
        self.names.tell("target.example", INSIDE)
        wanted = {}
        for told in (
            INSIDE, "10.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "fd00::1", f"::ffff:{INSIDE}", f"64:ff9b::{INSIDE}",
            "target.example", [INSIDE, "::1", "10.0.0.1"],
        ):
            self.take_another()
            wanted[self.at(told)] = "refused_address"
        self.all_fail(wanted)

    def test_it_is_refused_at_each_try(self):
        name = self.named(INSIDE)
        self.made(url=self.receiver.url(self.path, host=name))
        self.earn(1)
        until("it is tried again", lambda: self.asked(name) >= 3)
        self.has_failed("refused_address")

    def test_a_name_that_leads_nowhere_is_told(self):
        wanted = {self.receiver.url(host="nowhere.example"): "dns"}
        for told, reason in (([], "dns"), (None, "timeout")):
            self.take_another()
            wanted[self.at(told)] = reason
        self.all_fail(wanted)

    def test_a_name_that_is_rebound_is_judged_anew(self):
        name = self.named(OPEN, INSIDE)
        self.made(url=self.receiver.url(self.path, host=name))
        # Without keeping the connection, each event is a look-up.
        self.receiver.behave(self.path, headers={"connection": "close"})
        first = self.earn(1)
        self.wait_for(first)
        second = self.earn(2)
        self.has_failed("refused_address")
        asked = self.asked(name)
        until("it is tried again", lambda: self.asked(name) > asked)
        self.assertEqual(self.got(), first)
        # Nothing is lost by it.
        self.names.tell(name, OPEN)
        self.wait_for(first + second)

    def test_a_name_that_is_rebound_between_two_tries_is_judged_anew(self):
        self.receiver.behave(self.path, status=500, headers={"connection": "close"})
        self.made(url=self.at(OPEN, INSIDE))
        self.earn(1)
        until("the reason changes", lambda: self.shown().get("last_error", {}).get("reason") == "refused_address")
        self.assertEqual([request.status for request in self.receiver.requests(self.path)], [500])

    def test_of_several_addresses_only_those_that_are_allowed_are_tried(self):
        paths = []
        for told in ([INSIDE, OPEN], [OPEN, INSIDE], [f"::ffff:{INSIDE}", "::1", OPEN]):
            self.take_another()
            self.made(url=self.at(told))
            paths.append(self.path)
        ids = self.earn(1)
        for path in paths:
            self.wait_for(ids, path)
        self.take_another()
        self.all_fail({self.at([EMPTY, INSIDE]): "connect"})
