"""The board, the alerts and the documents name metrics and labels that a gateway exports, and their queries parse."""

import functools
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
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
from wire.metrics import metric, metrics
from wire.patience import until
from wire.ports import quiet_port

BOARD = ROOT / "deploy/grafana/heartline.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
# Nothing listens there.
NOWHERE = "127.0.0.1:1"
# Put there by Prometheus itself.
OF_PROMETHEUS = {"up"}
LABELS_OF_PROMETHEUS = {"instance", "job", "le"}
NAME = re.compile(r"heartline_[a-z0-9_]+")
SAMPLE = re.compile(r"^((?:heartline|process)_[a-z0-9_]+)(?:\{(.*)\})? ", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SUFFIXES = {"counter": {"_total"}, "histogram": {"_bucket", "_sum", "_count"}, "info": {"_info"}, "gauge": {""}}
# Units that are not the base unit.
SCALED = re.compile(r"_(milli|micro|nano|kilo|mega)?(milliseconds|microseconds|ms|us|minutes|hours|kb|mb|kilobytes|megabytes|percent)(_|$)")
# What Grafana fills in.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}


def self_signed(folder):
    """The settings of a certificate for one day."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    command = ["openssl", "req", *made, "-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    return {"SERVER__TLS_CERT": certificate, "SERVER__TLS_KEY": key}


def publish_keys(of_class, folder):
    """The URL of a JWK set with one key, until the tests of the class have ended."""
    (folder / "keys").mkdir()
    key = (ROOT / "tests/support/keys/ec-1.jwk").read_text()
    (folder / "keys/jwks.json").write_text(f'{{"keys": [{key}]}}')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder / "keys")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    of_class.addClassCleanup(server.server_close)
    of_class.addClassCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}/jwks.json"


class Metrics(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = Path(cls.scratch.name)
        cls.redis = redis = Redis(SINGLE, folder / "redis")
        cls.addClassCleanup(redis.stop)
        settings = {
            "STORE__HOT_STORE": "redis",
            "REDIS__URL": redis.start().url,
            "LIMITS__CONNECTIONS_PER_ADDRESS": 1,
            "GRPC__LISTEN": f"127.0.0.1:{(grpc := quiet_port())}",
            # All roles in one process; what packs, and what writes them, count from the start and wait for no server.
            "HISTORY__STORE": "cassandra",
            "KAFKA__BROKERS": f'["{NOWHERE}"]',
            "CASSANDRA__NODES": f'["{NOWHERE}"]',
            # Views, and the flights that carry them.
            "STATISTICS__STORE": "mongodb",
            "STATISTICS__URL": f"mongodb://{NOWHERE}",
            "COUNTERS__DIRECT": '[{ id = "likes" }]',
        }
        cls.gateway = Gateway(BINARY, folder / "data", folder / "log", **settings)
        cls.addClassCleanup(cls.gateway.kill)
        cls.gateway.run("init")
        cls.gateway.start()
        # Subscribers need a bus that all gateways share, or a store of their own.
        certificate = self_signed(folder)
        published = {"AUTH__JWKS_URL": publish_keys(cls, folder)}
        cls.alone = Gateway(BINARY, folder / "alone", folder / "log-alone", **certificate, **published)
        cls.addClassCleanup(cls.alone.kill)
        cls.alone.start()
        service = f'["http://127.0.0.1:{grpc}"]'
        storeless = {"STORE__HOT_STORE": "history-service", "HISTORY_SERVICE__ADDRESSES": service}
        cls.storeless = Gateway(BINARY, folder / "storeless", folder / "log-storeless", **storeless)
        cls.addClassCleanup(cls.storeless.kill)
        cls.storeless.start()

    async def exported(self):
        """The labels of each metric, with the values that they have had."""
        # Some are there only when something has happened: a socket that closes, and one that is turned away.
        async with await Client.open(self.gateway, 42) as client:
            await client.beats(beat(7, client.now()))
            with self.assertRaises(Exception):
                await connect(f"{self.gateway.ws}/v1/connect", subprotocols=["heartline.v1.json"], proxy=None)
        until("the close is counted", lambda: "heartline_closes_total" in metrics(self.gateway))
        exported = {}
        gateways = (self.gateway, self.alone, self.storeless)
        samples = [sample for gateway in gateways for sample in SAMPLE.findall(metrics(gateway))]
        for name, labels in samples:
            for label, value in LABEL.findall(labels) or [("", "")]:
                exported.setdefault(name, {}).setdefault(label, set()).add(value)
        return exported

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

    async def test_the_memory_of_a_redis_master_and_its_limit_are_shown(self):
        [node] = self.redis.nodes
        of_node = f'{{node="127.0.0.1:{node.port}"}}'
        [_, before] = node.cli("CONFIG", "GET", "maxmemory")
        self.addCleanup(node.cli, "CONFIG", "SET", "maxmemory", before)
        node.cli("CONFIG", "SET", "maxmemory", "987654321")
        until(
            "the limit is shown",
            lambda: metric(self.gateway, f"heartline_redis_memory_max_bytes{of_node}") == 987_654_321,
        )
        used = metric(self.gateway, f"heartline_redis_memory_used_bytes{of_node}")
        self.assertTrue(100_000 < used < 987_654_321, used)

    async def test_documented_metrics_are_exported(self):
        exported = await self.exported()
        for document in DOCUMENTS:
            for name in NAME.findall(document.read_text()):
                series = {name, f"{name}_total", f"{name}_count"}
                self.assertTrue(series & set(exported), f"{document.name} names {name}")

    async def test_exported_metrics_are_documented_and_shown(self):
        documents = "".join(document.read_text() for document in DOCUMENTS)
        board = BOARD.read_text()
        for name in await self.exported():
            name = re.sub(r"_(bucket|sum|count)$", "", name)
            self.assertTrue(name in documents, f"no document tells of {name}")
            self.assertTrue(name in board, f"no panel shows {name}")


class Page(unittest.IsolatedAsyncioTestCase):
    """`/metrics` of a gateway on the embedded store, read as `promtool check metrics` would."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        self.gateway = Gateway(BINARY, folder / "data", folder / "log", GRPC__LISTEN="127.0.0.1:0")
        self.addCleanup(self.gateway.kill)
        self.gateway.start()

    def page(self):
        return call(self.gateway.admin, "GET", "/metrics", headers={"Accept": OPEN_METRICS}).text

    def test_the_metrics_page_passes_the_lint(self):
        problems = lint(self.page())
        self.assertEqual(problems, [])

    def test_without_a_word_about_the_format_the_page_is_the_one_that_promtool_reads(self):
        answer = call(self.gateway.admin, "GET", "/metrics")
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        checked = subprocess.run(
            [os.environ["PROMTOOL"], "check", "metrics"], input=answer.text, text=True, capture_output=True, check=False
        )
        # Names with the word are those of the counters that users define.
        said = [line for line in checked.stderr.splitlines() if not line.endswith("should not include type 'counter'")]
        self.assertEqual(said, [], checked.stdout)
        self.assertIn(checked.returncode, (0, 3), "1: it cannot be read; 3: it has a remark")

    def test_the_lint_finds_each_wrong_line(self):
        """The lint itself: each of these lines is wrong in its own way."""
        good = "# HELP a_seconds Time.\n# TYPE a_seconds gauge\na_seconds 1\n"
        self.assertEqual(lint(f"{good}# EOF\n"), [])
        for wrong in (
            good,
            f"{good}a_seconds 2\n# EOF\n",
            f"{good}{good}# EOF\n",
            "# HELP a Things.\n# TYPE a counter\na 1\n# EOF\n",
            "# HELP a .\n# TYPE a gauge\na 1\n# EOF\n",
            "# TYPE a gauge\na 1\n# EOF\n",
            "# HELP a_milliseconds Time.\n# TYPE a_milliseconds gauge\na_milliseconds 1\n# EOF\n",
            '# HELP a Things.\n# TYPE a gauge\na{aLabel="x"} 1\n# EOF\n',
            '# HELP a Things.\n# TYPE a gauge\na{reason="TooFast"} 1\n# EOF\n',
            '# HELP a_s Time.\n# TYPE a_s histogram\na_s_bucket{le="1"} 2\na_s_bucket{le="+Inf"} 1\n# EOF\n',
            "b 1\n# EOF\n",
        ):
            self.assertNotEqual(lint(wrong), [], wrong)

    async def test_counters_exist_before_the_first_event(self):
        at_start = counted(self.page())
        async with await Client.open(self.gateway, 42) as client:
            await client.beats(beat(7, client.now()))
        for method, path in (("GET", "/v1/history"), ("PATCH", "/v1/history"), ("GET", "/made-up")):
            call(self.gateway.http, method, path)
        with self.assertRaises(Exception):
            await connect(f"{self.gateway.ws}/v1/connect?token=x", proxy=None)
        async with connect(f"{self.gateway.ws}/v1/connect", proxy=None) as socket:
            await socket.close(code=4321)
        self.assertEqual(counted(self.page()) - at_start, set())
        self.assertGreater(len(at_start), 100)


class Alerts(unittest.TestCase):
    def test_each_alert_has_a_summary_and_is_documented(self):
        document = "".join(document.read_text() for document in DOCUMENTS)
        rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
        names = [rule["alert"] for rule in rules]
        self.assertEqual(len(names), len(set(names)))
        for rule in rules:
            self.assertIn(rule["labels"]["severity"], ("page", "ticket"), rule["alert"])
            self.assertEqual(set(rule["annotations"]), {"summary", "description"}, rule["alert"])
        explained = re.findall(r"^\| `(Heartline\w+)` \|", document, re.M)
        self.assertEqual(sorted(explained), sorted(names))

    def test_panels_have_unique_ids_and_queries(self):
        board = json.loads(BOARD.read_text())
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in board["panels"]:
            self.assertTrue(panel["type"] == "row" or panel["targets"], panel["title"])


def counted(page):
    """All series of counters and histograms."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M))
    series = set(re.findall(r"^(\S+) \S+$", page, re.M))
    return {one for one in series if types.get(family_of(one.split("{")[0], types)) in ("counter", "histogram")}


def family_of(name, types):
    """The family that a sample belongs to; None if it belongs to none."""
    families = (name.removesuffix(suffix) for suffixes in SUFFIXES.values() for suffix in suffixes)
    fitting = (one for one in families if one in types and name.removeprefix(one) in SUFFIXES.get(types[one], ()))
    return next(fitting, None)


def lint(page):
    """What Prometheus, or its users, would stumble over."""
    problems, types, helps, seen, buckets = [], {}, set(), set(), {}
    if not page.endswith("# EOF\n"):
        problems.append("the page does not end with # EOF")
    for line in page.splitlines()[:-1]:
        if line.startswith("# "):
            kind, name, *rest = line[2:].split(" ", 2)
            text = rest[0] if rest else ""
            if kind == "HELP":
                if name in helps:
                    problems.append(f"{name} has two help texts")
                helps.add(name)
                if not text.strip(". "):
                    problems.append(f"{name} has an empty help text")
            elif kind == "TYPE":
                if name in types:
                    problems.append(f"{name} is there twice")
                types[name] = text
                if SCALED.search(name):
                    problems.append(f"{name} is not in a base unit")
            continue
        series, _, value = line.rpartition(" ")
        if series in seen:
            problems.append(f"{series} is there twice")
        seen.add(series)
        name, _, labels = series.partition("{")
        family = family_of(name, types)
        if family is None:
            problems.append(f"{name} has no type, or not the suffix of its type")
            continue
        if family not in helps:
            problems.append(f"{name} has no help text")
        if not SNAKE_CASE.fullmatch(name):
            problems.append(f"{name} is not snake_case")
        pairs = LABEL.findall(labels)
        for label, content in pairs:
            if not SNAKE_CASE.fullmatch(label):
                problems.append(f"{name}: the label {label} is not snake_case")
            # Methods and versions are what they are; everything that the gateway names itself is snake_case.
            if label in ("reason", "outcome", "kind", "why", "result", "read", "store", "direction"):
                if not SNAKE_CASE.fullmatch(content):
                    problems.append(f"{name}: {label}={content} is not snake_case")
        if name.endswith("_bucket"):
            key = (name, tuple(pair for pair in pairs if pair[0] != "le"))
            if float(value) < buckets.get(key, 0):
                problems.append(f"{series} is less than the bucket before it")
            buckets[key] = float(value)
    return problems


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
