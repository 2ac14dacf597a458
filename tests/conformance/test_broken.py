"""Every rule can fail: a client with one fault fails the rule of that fault, and no other one of its scenario."""

import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from . import kit, kotlin

RULES = kit.rules()
FAULTS = subprocess.run(
    [sys.executable, "-c", "from conformance.broken import FAULTS; print(*FAULTS)"],
    check=True, capture_output=True, text=True,
).stdout.split()  # fmt: skip
# They wait most of the time.
AT_ONCE = 6 * os.cpu_count()


def judged(rule):
    """A faulty client, in the scenario of its rule."""
    harness = [sys.executable, "-m", "conformance.broken", rule]
    return kit.judge(lambda url: [*harness, url], *kit.scenario_of(rule))


def judged_in_kotlin(rule):
    return kit.judge(lambda url: kotlin.broken(rule, url), *kit.scenario_of(rule))


class Broken(unittest.TestCase):
    def test_there_is_a_faulty_client_for_every_rule(self):
        self.assertEqual(sorted(FAULTS), sorted(RULES))

    def test_each_fault_fails_its_rule_alone(self):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for rule, outcome in zip(FAULTS, pool.map(judged, FAULTS), strict=True):
                with self.subTest(rule):
                    self.fails(rule, outcome)

    def test_each_bug_in_the_client_in_kotlin_fails_its_rule_alone(self):
        self.assertTrue(kotlin.BUGS)
        for rule in kotlin.BUGS:
            with self.subTest(rule):
                self.fails(rule, judged_in_kotlin(rule))

    def fails(self, rule, outcome):
        self.assertEqual(outcome.failed, {rule}, outcome.report)
        self.assertEqual(outcome.code, 1)
