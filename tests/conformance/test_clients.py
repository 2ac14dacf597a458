"""Clients that keep all rules: the browser SDK, and those of docs/examples. And what no client was there for."""

import os
import sys
import unittest
from pathlib import Path

from . import kit, kotlin

ROOT = Path(__file__).parents[2]
WORKERS = "8"


def sdk(url):
    quiet = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--disable-warning=ExperimentalWarning"]
    script = Path(__file__).with_name("sdk.mjs")
    return [os.environ["NODE"], "--experimental-websocket", *quiet, script, url, WORKERS]


def example_in_python(url):
    return [sys.executable, ROOT / "docs" / "examples" / "conformance.py", url, WORKERS]


def example_in_kotlin(url):
    return kotlin.client(url, WORKERS)


class Clients(unittest.TestCase):
    def test_the_sdk_and_the_examples_keep_all_rules(self):
        for harness in (sdk, example_in_python, example_in_kotlin):
            with self.subTest(harness.__name__):
                outcome = kit.judge(harness)
                self.assertEqual((outcome.failed, outcome.not_tried), (set(), set()), outcome.report)
                self.assertEqual(outcome.code, 0)
                self.assertEqual({case.get("name") for case in outcome.cases}, kit.rules().keys())

    def test_what_no_client_was_there_for_is_not_tried(self):
        outcome = kit.judge(None)
        self.assertEqual((outcome.failed, outcome.not_tried), (set(), kit.rules().keys()))
        self.assertEqual(outcome.code, 1)
        self.assertIn("the client does not pass", outcome.said)

    def test_a_rule_whose_scenario_did_not_come_so_far_is_not_tried(self):
        """A client that never speaks, while its harness does all that it is told."""
        silent = [sys.executable, Path(__file__).with_name("silent.py")]
        outcome = kit.judge(lambda url: [*silent, url], "--only", "resends-unacked", "resends-after-a-reload")
        self.assertEqual((outcome.failed, outcome.not_tried), (set(), {"resends-unacked", "resends-after-a-reload"}))
        self.assertIn("lost-acks: no 1 beats from a client that plays within", outcome.report)
        self.assertEqual(outcome.code, 1)
