"""The judge finds what it is there for."""

import unittest

from subscriber_audit.judge import judge

# Two events of user 7 at owner 0, and one of each of two users at owner 1.
EXPECTED = [(0, "a", 7), (0, "b", 7), (1, "c", 7), (1, "d", 8)]


def found(**received):
    of_owners = {0: ["a", "b"], 1: ["c", "d"]} | {int(owner[1:]): events for owner, events in received.items()}
    return [promise for promise, _ in judge(of_owners.get, 2, EXPECTED)]


class Judge(unittest.TestCase):
    def test_all_of_it_in_order_is_right(self):
        self.assertEqual(found(), [])

    def test_users_have_no_order_among_them(self):
        self.assertEqual(found(o1=["d", "c"]), [])

    def test_a_lost_a_strange_and_a_swapped_event_are_found(self):
        self.assertEqual(found(o0=["a"]), ["lost"])
        self.assertEqual(found(o1=["c", "d", "a"]), ["strange"])
        self.assertEqual(found(o0=["b", "a"]), ["order"])

    def test_without_two_events_of_a_user_at_an_owner_no_order_is_judged(self):
        faults = judge({0: ["a"]}.get, 1, [(0, "a", 7)])
        self.assertEqual([promise for promise, _ in faults], ["load"])
