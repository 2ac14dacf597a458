"""The judge of the load of subscribers finds what it is there for."""

import unittest

from subscriber_load.beats import REQUESTS, Beats, Earned
from subscriber_load.bounds import Bound, beside
from subscriber_load.judge import judge
from subscriber_load.owners import NOISY, NOISY_SHARE, Owners
from subscriber_load.phase import delays
from subscriber_load.receiver import Arrival

# Two owners; user 7 has earned two events at the first, and two users one each at the second.
EARNED = [Earned("a", 0, 7, 1.0), Earned("b", 0, 7, 2.0), Earned("c", 1, 7, 2.0), Earned("d", 1, 8, 2.0)]


def promises(*came, earned=EARNED):
    """What of a log is a fault; each entry is an owner and its event, and a status if it is not 200."""
    arrivals = [Arrival(3.0 + n, owner, *(status or [200]), event) for n, (owner, event, *status) in enumerate(came)]
    return [promise for promise, _ in judge(earned, arrivals, owners=3)]


class JudgeOfTheLoad(unittest.TestCase):
    def test_what_came_in_order_is_right_also_repeated_and_failed_before(self):
        self.assertEqual(promises((0, "a"), (0, "b"), (1, "c"), (1, "d")), [])
        self.assertEqual(promises((0, "a", 500), (0, "a"), (0, "b", 0), (0, "a"), (0, "b"), (1, "d"), (1, "c")), [])

    def test_what_never_came_or_was_never_confirmed_is_lost(self):
        self.assertEqual(promises((0, "a"), (1, "c"), (1, "d")), ["lost"])
        self.assertEqual(promises((0, "a"), (0, "b", 500), (1, "c"), (1, "d")), ["lost"])
        self.assertEqual(promises((0, "a"), (0, "b")), ["lost"])

    def test_events_of_another_owner_or_of_nobody_are_strange(self):
        self.assertEqual(promises((0, "a"), (0, "b"), (0, "c"), (1, "c"), (1, "d")), ["strange"])
        self.assertEqual(promises((0, "a"), (0, "b"), (1, "c"), (1, "d"), (2, "a")), ["strange"])
        self.assertEqual(promises((0, "a"), (0, "b"), (1, "c"), (1, "d"), (1, "e")), ["strange"])

    def test_a_swap_within_a_user_is_out_of_order(self):
        self.assertEqual(promises((0, "b"), (0, "a"), (1, "c"), (1, "d")), ["order"])

    def test_an_event_that_overtakes_one_that_failed_is_out_of_order(self):
        self.assertEqual(promises((0, "a", 500), (0, "b"), (0, "a"), (1, "c"), (1, "d")), ["order"])

    def test_a_load_without_an_order_is_told(self):
        self.assertEqual(promises((0, "a"), (1, "d"), earned=[EARNED[0], EARNED[3]]), ["load"])


class Plans(unittest.TestCase):
    beats = Beats(None, Owners(1_000), 16, seed=1)

    def test_each_request_earns_another_event_of_each_owner(self):
        requests = self.beats.plan(7, is_noisy=True)
        self.assertEqual([len(request) for request in requests], [16] * REQUESTS)
        self.assertEqual(len({content for request in requests for _, content in request}), 16 * REQUESTS)
        self.assertEqual(len({tuple(owner for owner, _ in request) for request in requests}), 1)
        self.assertTrue(all(content % 1_000 == owner for request in requests for owner, content in request))

    def test_without_the_noisy_owner_only_its_users_are_silent(self):
        beside, alone = ([self.beats.plan(user, is_noisy) for user in range(2_000)] for is_noisy in (True, False))
        silent = [plan for plan, quiet in zip(beside, alone) if not any(quiet)]
        self.assertAlmostEqual(len(silent) / len(beside), NOISY_SHARE, delta=0.05)
        self.assertEqual({owner for plan in silent for request in plan for owner, _ in request}, {NOISY})
        self.assertTrue(all(plan == quiet for plan, quiet in zip(beside, alone) if any(quiet)))

    def test_the_others_follow_the_noisy_one_by_their_rank(self):
        drawn = [owner for user in range(2_000) for owner, _ in self.beats.plan(user, is_noisy=True)[0]]
        share = [drawn.count(owner) / len(drawn) for owner in (0, 1, 9, 99)]
        self.assertEqual(share, sorted(share, reverse=True))
        self.assertGreater(share[1], 0.05)


class Delays(unittest.TestCase):
    def test_a_wait_begins_when_an_event_came_that_was_not_earned_before(self):
        earned = [Earned("a", 9, 7, 1.0), Earned("b", 0, 7, 2.0), Earned("c", 8, 8, 3.0)]
        arrivals = [Arrival(4.0, 0, 200, "b"), Arrival(4.5, 9, 200, "a"), Arrival(6.0, 8, 200, "c")]
        ages, waits = delays(earned, arrivals)
        self.assertEqual(sorted(ages), [3.0, 3.5])
        self.assertEqual(sorted(waits), [0.0, 0.5])


class Beside(unittest.TestCase):
    bound = Bound("age", "it", ratio=2, floor=0.05)

    def is_fault(self, *pairs):
        return [promise for promise, _ in beside(self.bound, pairs)] == ["age"]

    def test_a_figure_may_grow_by_the_ratio_and_up_to_the_floor(self):
        self.assertFalse(self.is_fault((0.1, 0.2)))
        self.assertFalse(self.is_fault((0.001, 0.05)))
        self.assertTrue(self.is_fault((0.1, 0.201)))
        self.assertTrue(self.is_fault((0.001, 0.051)))

    def test_it_is_a_fault_if_most_rounds_break_the_bound(self):
        good, bad = (0.1, 0.2), (0.1, 0.3)
        self.assertFalse(self.is_fault(good, bad, good))
        self.assertTrue(self.is_fault(bad, good, bad))
        self.assertTrue(self.is_fault(bad, bad, bad))
