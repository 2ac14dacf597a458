"""A gateway with what one fault needs, and what is seen of it."""

import itertools
import re
import time

from minute.alerts import EVERY_SECONDS, Alerts
from minute.faults import watched
from tiers.redis_server import SINGLE, Redis
from wire.gateway import Gateway
from wire.http import call
from wire.metrics import metrics
from wire.patience import until

SECONDS = 60
# Where something is to be seen of a fault.
PLACES = ("/readyz", "metrics", "alerts", "log")
# An error of Kafka's that comes with the end is an old one.
STALE = "kafka_error"


class Site:
    def __init__(self, binary, folder, kafka, cassandra, fault):
        self.fault, self.folder, self.kafka, self.cassandra = fault, folder, kafka, cassandra
        folder.mkdir()
        self.redis = Redis(SINGLE, folder / "redis")
        self.alerts = Alerts(folder / "alerts")
        self.seconds = itertools.count(1)
        self._binary = binary
        self.gateway, self.seen = None, {}

    def run(self):
        """Returns what is wrong, if anything. What was seen, and after how many seconds, is in `seen`."""
        try:
            self._start()
            return self._faults()
        finally:
            if self.gateway:
                self.gateway.kill()
            for node in self.redis.nodes:
                if node.pid:
                    node.resume()
            self.redis.stop()

    def _start(self):
        settings = {
            "STORE__HOT_STORE": "redis",
            "REDIS__URL": self.redis.start().url,
            "EVENTS__EVENT_BUS": "embedded",
            **self.fault.settings(self),
        }
        self.gateway = Gateway(self._binary, self.folder / "data", self.folder / "log", **settings)
        self.gateway.run("init")
        self.gateway.start()
        until(f"{self.fault.name}: all is well", self._is_well, every=0.5)

    def _is_well(self):
        self._play()
        ready = self._readyz()
        return (ready.status, ready.json()) == (200, {"ready": True})

    def _faults(self):
        fault = self.fault
        for _ in range(3):
            self._read()
            time.sleep(EVERY_SECONDS)
        before = self.alerts.held()
        wrong = [f"{name} holds before the fault" for name in before & fault.alerts]
        logged, process = len(self.gateway.stderr()), self.gateway.process
        fault.begin(self)
        if self.gateway.process is not process:
            logged = 0
        began = time.monotonic()
        while len(self.seen) < len(PLACES) and time.monotonic() - began < SECONDS:
            self._look(began, before, self.gateway.stderr()[logged:])
            time.sleep(max(0.0, EVERY_SECONDS - (time.monotonic() - began) % EVERY_SECONDS))
        wrong += [f"nothing to be seen in {what}" for what in PLACES if what not in self.seen]
        return wrong + self._end()

    def _look(self, began, before, log):
        fault = self.fault
        self._play()

        def see(what, text):
            self.seen.setdefault(what, (time.monotonic() - began, text))

        ready = self._readyz()
        if ready.status == fault.status and fault.says in ready.text.replace('\\"', '"'):
            body = ready.json()
            lines = body.get("reasons", []) + body.get("degraded", [])
            see("/readyz", f"{ready.status} {next(line for line in lines if fault.says in line)}")
        page = self._read()
        name, shows = fault.metric
        found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)
        if shows(float(found[1]) if found else None):
            see("metrics", f"{name} {found[1]}")
        lines = [line for line in log.splitlines() if all(word in line for word in fault.log)]
        if lines:
            see("log", lines[0])
        if "metrics" in self.seen and "alerts" not in self.seen:
            held = self.alerts.held()
            if fault.alerts <= held:
                see("alerts", " ".join(sorted(held - before)))

    def _play(self):
        if self.fault.needs == "cassandra":
            watched(self)

    def _readyz(self):
        return call(self.gateway.admin, "GET", "/readyz")

    def _read(self):
        page = metrics(self.gateway)
        self.alerts.read(page)
        return page

    def _end(self):
        """A drain says nothing that was known before."""
        if "kafka" not in self.fault.needs:
            return []
        logged = len(self.gateway.stderr())
        self.gateway.stop()
        late = [line for line in self.gateway.stderr()[logged:].splitlines() if STALE in line]
        return [f"an old error at the end: {line}" for line in late]
