"""`heartline conformance` as a child process, with the harness of a client."""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

BINARY = os.environ["HEARTLINE_BIN"]
URL = re.compile(r"conformance kit on (http://\S+),")
# The kit gives up earlier.
PATIENCE_SECONDS = 240


def rules():
    """rule -> scenario"""
    lines = subprocess.run([BINARY, "conformance", "--list"], check=True, capture_output=True, text=True).stdout
    return {rule: scenario for rule, scenario, *_ in (line.split("\t") for line in lines.splitlines())}


def scenario_of(rule):
    """Options for the scenario of this rule, with all that is judged in it."""
    scenarios = rules()
    judged = {scenarios[rule], "every-scenario"}
    return ["--only", *(other for other, scenario in scenarios.items() if scenario in judged)]


class Outcome:
    def __init__(self, code, report, said):
        self.code, self.report, self.said = code, report, said
        self.cases = list(ElementTree.fromstring(report).iter("testcase"))

    def named(self, tag):
        return {case.get("name") for case in self.cases if case.find(tag) is not None}

    @property
    def failed(self):
        return self.named("failure")

    @property
    def not_tried(self):
        return self.named("error")


def judge(harness, *options):
    """What the kit says of a client, whose harness is `harness(url)`: a command."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [BINARY, "conformance", "--listen", "127.0.0.1:0", "--report", "junit", "--output", report, *options]
        kit = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        client = None
        try:
            first = kit.stderr.readline()
            client = harness and subprocess.Popen(harness(URL.search(first)[1]), stderr=subprocess.DEVNULL)
            if not client:
                kit.terminate()
            _, said = kit.communicate(timeout=PATIENCE_SECONDS)
        finally:
            for process in filter(None, [client, kit]):
                process.kill()
                process.wait()
        return Outcome(kit.returncode, report.read_text(), said)
