"""The alert rules, by Prometheus' own tool: they are valid, and fire when they should (alerts_test.yml)."""

import os
import subprocess
import unittest
from pathlib import Path

from deploy.files import ROOT

ALERTS = ROOT / "deploy/prometheus/alerts.yml"
TESTS = Path(__file__).with_name("alerts_test.yml")


def promtool(*arguments):
    """Exit code and all that it says."""
    command = [os.environ["PROMTOOL"], *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class AlertRules(unittest.TestCase):
    def test_the_rules_are_valid(self):
        code, said = promtool("check", "rules", ALERTS)
        self.assertEqual(code, 0, said)

    def test_the_rules_fire_when_they_should(self):
        code, said = promtool("test", "rules", TESTS)
        self.assertEqual(code, 0, said)
