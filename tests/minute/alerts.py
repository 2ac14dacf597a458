"""Which alerts of deploy/prometheus/alerts.yml hold by what a gateway has exported, by Prometheus' own tool.

An alert that holds fires when it has held for its `for`; here it counts at once.
"""

import os
import re
import subprocess
from pathlib import Path

import yaml

RULES = Path(__file__).parents[2] / "deploy/prometheus/alerts.yml"
EVERY_SECONDS = 2
_NAME = re.compile(r"heartline_[a-z0-9_]+|process_[a-z_]+")
_SAMPLE = re.compile(r"^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$")
_RAISED = re.compile(r"alertname: (\w+), time:")


class Alerts:
    """The pages of one gateway, in the order in which they were read, one every [`EVERY_SECONDS`]."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._folder.mkdir()
        rules = yaml.safe_load(RULES.read_text())
        self._asked = set(_NAME.findall(RULES.read_text()))
        self._names = []
        for group in rules["groups"]:
            for rule in group["rules"]:
                rule.pop("for", None)
                self._names.append(rule["alert"])
        (self._folder / "rules.yml").write_text(yaml.safe_dump(rules))
        self._series, self._count = {"up{job=\"heartline\",instance=\"gateway\"}": []}, 0

    def read(self, page):
        """`page`: of metrics; None: the gateway does not answer."""
        found = {next(iter(self._series)): "0" if page is None else "1"}
        for line in (page or "").splitlines():
            sample = _SAMPLE.match(line)
            if sample and sample[1] in self._asked:
                labels = ",".join(filter(None, [sample[2], 'job="heartline"', 'instance="gateway"']))
                found[f"{sample[1]}{{{labels}}}"] = sample[3]
        for name in found:
            self._series.setdefault(name, ["_"] * self._count)
        for name, values in self._series.items():
            values.append(found.get(name, "stale" if values and values[-1] not in ("_", "stale") else "_"))
        self._count += 1

    def held(self):
        """The names of those that hold now."""
        at = f"{(self._count - 1) * EVERY_SECONDS}s"
        test = {
            "interval": f"{EVERY_SECONDS}s",
            "input_series": [{"series": name, "values": " ".join(values)} for name, values in self._series.items()],
            "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": []} for name in self._names],
        }
        tests = {"rule_files": ["rules.yml"], "evaluation_interval": f"{EVERY_SECONDS}s", "tests": [test]}
        (self._folder / "tests.yml").write_text(yaml.safe_dump(tests))
        command = [os.environ["PROMTOOL"], "test", "rules", self._folder / "tests.yml"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        held = set(_RAISED.findall(done.stdout))
        if (done.returncode == 0) != (not held):
            raise RuntimeError(done.stdout)
        return held
