"""Every rule can fail: a client with one fault fails the rule of that fault, and no other one of its scenario."""

import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from . import kit

RULES = kit.rules()
EVERYWHERE = [rule for rule, scenario in RULES.items() if scenario == "every-scenario"]
FAULTS = subprocess.run(
    [sys.executable, "-c", "from conformance.broken import FAULTS; print(*FAULTS)"],
    check=True, capture_output=True, text=True,
).stdout.split()  # fmt: skip
# They wait most of the time.
AT_ONCE = 6 * os.cpu_count()


def judged(rule):
    """A faulty client, in the scenario of its rule."""
    harness = [sys.executable, "-m", "conformance.broken", rule]
    neighbors = [other for other, scenario in RULES.items() if scenario == RULES[rule]]
    return kit.judge(lambda url: [*harness, url], "--only", *neighbors, *EVERYWHERE)


class Broken(unittest.TestCase):
    def test_there_is_a_faulty_client_for_every_rule(self):
        self.assertEqual(sorted(FAULTS), sorted(RULES))

    def test_each_fault_fails_its_rule_alone(self):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for rule, outcome in zip(FAULTS, pool.map(judged, FAULTS), strict=True):
                with self.subTest(rule):
                    self.assertEqual(outcome.failed, {rule}, outcome.report)
                    self.assertEqual(outcome.code, 1)
