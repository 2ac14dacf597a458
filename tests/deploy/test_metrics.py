"""The board, the alerts and the documents name metrics and labels that a gateway exports, and their queries parse."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import promql_parser
import yaml
from websockets.asyncio.client import connect

from deploy.files import BINARY, ROOT
from tiers.redis_server import SINGLE, Redis
from wire.client import Client, beat
from wire.gateway import Gateway
from wire.http import call

BOARD = ROOT / "deploy/grafana/heartline.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
# Put there by Prometheus itself.
OF_PROMETHEUS = {"up"}
LABELS_OF_PROMETHEUS = {"instance", "job", "le"}
NAME = re.compile(r"heartline_[a-z0-9_]+")
SAMPLE = re.compile(r"^(heartline_[a-z0-9_]+)(?:\{(.*)\})? ", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')
# What Grafana fills in.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}


class Metrics(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = Path(cls.scratch.name)
        redis = Redis(SINGLE, folder / "redis")
        cls.addClassCleanup(redis.stop)
        settings = {
            "STORE__HOT_STORE": "redis",
            "REDIS__URL": redis.start().url,
            "LIMITS__CONNECTIONS_PER_ADDRESS": 1,
        }
        cls.gateway = Gateway(BINARY, folder / "data", folder / "log", **settings)
        cls.addClassCleanup(cls.gateway.kill)
        cls.gateway.run("init")
        cls.gateway.start()

    async def exported(self):
        """The labels of each metric, with the values that they have had."""
        # Some are there only when something has happened: a socket that closes, and one that is turned away.
        async with await Client.open(self.gateway, 42) as client:
            await client.beats(beat(7, client.now()))
            with self.assertRaises(Exception):
                await connect(f"{self.gateway.ws}/v1/connect", subprotocols=["heartline.v1.json"], proxy=None)
        metrics = {}
        give_up = 100
        while "heartline_closes_total" not in metrics and (give_up := give_up - 1):
            text = call(self.gateway.admin, "GET", "/metrics").text
            for name, labels in SAMPLE.findall(text):
                for label, value in LABEL.findall(labels) or [("", "")]:
                    metrics.setdefault(name, {}).setdefault(label, set()).add(value)
        return metrics

    def expressions(self):
        """All queries, each with where it stands."""
        board = json.loads(BOARD.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield f"panel {panel['title']}", target["expr"]
        for group in yaml.safe_load(ALERTS.read_text())["groups"]:
            for rule in group["rules"]:
                yield f"alert {rule['alert']}", rule["expr"]

    async def test_queries_parse_and_ask_for_what_is_there(self):
        exported = await self.exported()
        asked = 0
        for place, text in self.expressions():
            for variable, value in VARIABLES.items():
                text = text.replace(variable, value)
            self.assertNotIn("$", text, place)
            expression = promql_parser.parse(text)
            for selector in selectors(expression):
                asked += 1
                if selector.name in OF_PROMETHEUS:
                    continue
                self.assertTrue(selector.name in exported, f"{place}: no gateway exports {selector.name}")
                labels = exported[selector.name]
                for matcher in selector.matchers.matchers:
                    self.assertIn(matcher.name, {*labels, *LABELS_OF_PROMETHEUS}, f"{place}: {selector.name}")
            for label in re.findall(r"\bby \(([^)]*)\)", text):
                for name in label.replace(" ", "").split(","):
                    known = {label for metric in NAME.findall(text) for label in exported.get(metric, {})}
                    self.assertIn(name, known | LABELS_OF_PROMETHEUS, place)
        self.assertGreater(asked, 30)

    async def test_what_is_documented_is_exported(self):
        exported = await self.exported()
        for document in DOCUMENTS:
            for name in NAME.findall(document.read_text()):
                series = {name, f"{name}_total", f"{name}_count"}
                self.assertTrue(series & set(exported), f"{document.name} names {name}")

    async def test_what_is_exported_is_documented_and_shown(self):
        documents = "".join(document.read_text() for document in DOCUMENTS)
        board = BOARD.read_text()
        for name in await self.exported():
            name = re.sub(r"_(bucket|sum|count)$", "", name)
            self.assertTrue(name in documents, f"no document tells of {name}")
            self.assertTrue(name in board, f"no panel shows {name}")


class Alerts(unittest.TestCase):
    def test_each_says_what_it_means_and_is_explained(self):
        document = (ROOT / "docs/tiers.md").read_text()
        rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
        names = [rule["alert"] for rule in rules]
        self.assertEqual(len(names), len(set(names)))
        for rule in rules:
            self.assertIn(rule["labels"]["severity"], ("page", "ticket"), rule["alert"])
            self.assertEqual(set(rule["annotations"]), {"summary", "description"}, rule["alert"])
        explained = re.findall(r"^\| `(Heartline\w+)` \|", document, re.M)
        self.assertEqual(sorted(explained), sorted(names))

    def test_the_board_is_whole(self):
        board = json.loads(BOARD.read_text())
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in board["panels"]:
            self.assertTrue(panel["type"] == "row" or panel["targets"], panel["title"])


def selectors(expression):
    """All vector selectors of a query."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression
        return
    for part in ("expr", "lhs", "rhs", "vector_selector", "args"):
        inner = getattr(expression, part, None)
        for one in inner if isinstance(inner, list) else [inner]:
            if one is not None:
                yield from selectors(one)
