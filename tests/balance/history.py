"""`python -m balance.history BINARY`: calls of back-ends to two real history services, through the deployed HAProxy.

Both use one Redis. Calls of one connection go to both. While records are imported, again and again, one service after the
other is drained and started again: no call fails on its way, and what was imported is exported.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from balance.balancer import CONFIGURATION
from balance.pair import expect
from balance.started import Started
from tiers.redis_server import SINGLE, Redis
from wire.gateway import Gateway
from wire.http import call
from wire.patience import until
from wire.ports import quiet_port

FLEET = CONFIGURATION.with_name("fleet.cfg")
NAMES = ["history-1", "history-2"]
STATE = re.compile(r'^haproxy_server_status\{proxy="history-services",server="([^"]+)",state="UP"\} 1$', re.M)
CALLS = re.compile(r'^heartline_grpc_calls_total\{method="put",status="ok"\} (\d+)$', re.M)
# As the log-format of the file has it: path, status, server, how it ended.
LOGGED = re.compile(r"POST (\S+) (\S+) history-services/(\S+) (\S+) ")
NOWHERE = "127.0.0.1:1"
ROUNDS = 3
USERS, CONTENTS = 1_000, 50


class HistoryService(Gateway):
    words = ("serve", "--role", "history")
    ready_line = re.compile(
        rb"^grpc listener: (http://\S+)\nheartline history is running \(admin (http://\S+)\)\ncontrol listener: (http://\S+) ",
        re.M,
    )

    def is_at(self, grpc, admin, control):
        self.grpc, self.admin, self.control = grpc, admin, control

    def puts(self):
        return int(CALLS.search(call(self.admin, "GET", "/metrics").text)[1])


class Fleet(Started):
    """Redis, two history services, and HAProxy with the files of a fleet."""

    def __init__(self, binary, configuration):
        self._binary, self._configuration = binary, configuration
        self.services = {}

    def _start(self):
        redis = Redis(SINGLE, self.scratch / "redis").start()
        self._ends.append(redis.stop)
        shared = {"STORE__HOT_STORE": "redis", "REDIS__URL": redis.url}
        self.client = Gateway(self._binary, self.scratch / "client", self.scratch / "client.log", **shared)
        self.client.run("init")
        public, self.listen, self.status = (f"127.0.0.1:{quiet_port()}" for _ in range(3))
        settings = {"LB_LISTEN": public, "LB_HISTORY": self.listen, "LB_STATUS": self.status}
        settings |= {"GATEWAY_1": NOWHERE, "GATEWAY_2": NOWHERE}
        for number, name in enumerate(NAMES, 1):
            grpc, admin = f"127.0.0.1:{quiet_port()}", f"127.0.0.1:{quiet_port()}"
            settings |= {f"HISTORY_{number}": grpc, f"HISTORY_{number}_ADMIN_PORT": admin.rpartition(":")[2]}
            own = {"GRPC__LISTEN": grpc, "ADMIN__LISTEN": admin}
            service = HistoryService(self._binary, self.scratch / name, self.scratch / f"{name}.log", **own, **shared)
            self._ends.append(service.kill)
            self.services[name] = service.start()
        self.log = self.scratch / "haproxy.log"
        with open(self.log, "ab") as log:
            words = ["haproxy", "-db", "-f", str(CONFIGURATION), "-f", str(self._configuration)]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **settings})
        self._ends.append(process.wait)
        self._ends.append(process.kill)
        self.wait_until(*NAMES)

    def ready(self):
        try:
            return set(STATE.findall(call(f"http://{self.status}", "GET", "/metrics").text))
        except OSError:
            return None

    def wait_until(self, *names):
        until(f"ready for HAProxy are {names}; see {self.log}", lambda: self.ready() == set(names))

    def transfer(self, word, file):
        """`heartline import` or `export`, as a back-end elsewhere runs it."""
        self.client.run(word, str(file), "--grpc", f"http://{self.listen}")


def records():
    at = int(time.time() * 1_000) - 3_600_000
    for mid in range(1, USERS + 1):
        for oid in range(1, CONTENTS + 1):
            yield {"mid": str(mid), "kind": 1, "oid": str(oid), "pos": 1_000 * oid, "at": at + oid}


def drain_one_after_the_other(fleet):
    for leaving, staying in zip(NAMES, reversed(NAMES)):
        before = {name: service.puts() for name, service in fleet.services.items()}
        until("calls go to both", lambda: all(fleet.services[name].puts() > before[name] + 10 for name in NAMES))
        code = fleet.services[leaving].stop()
        expect(code == 0, f"{leaving} ended with {code}")
        fleet.wait_until(staying)
        fleet.services[leaving].start()
        fleet.wait_until(*NAMES)


def prove(fleet):
    whole, copy = fleet.scratch / "whole.ndjson", fleet.scratch / "copy.ndjson"
    lines = list(records())
    whole.write_text("".join(json.dumps(line) + "\n" for line in lines))
    drained = threading.Event()

    def import_again_and_again():
        while not drained.is_set():
            fleet.transfer("import", whole)

    with ThreadPoolExecutor(1) as pool:
        importing = pool.submit(import_again_and_again)
        try:
            for _ in range(ROUNDS):
                drain_one_after_the_other(fleet)
        finally:
            drained.set()
        importing.result()
    fleet.transfer("export", copy)
    exported = [json.loads(line) for line in copy.read_text().splitlines()]
    same = {(line["mid"], line["oid"], line["pos"]) for line in exported}
    expect(len(exported) == len(lines), f"{len(exported)} of {len(lines)} records are exported")
    expect(same == {(line["mid"], line["oid"], line["pos"]) for line in lines}, "another record is exported")
    logged = LOGGED.findall(fleet.log.read_text())
    failed = [line for line in logged if line[1] != "200" or line[3] != "--"]
    shares = {name: sum(server == name for _, _, server, _ in logged) for name in NAMES}
    expect(not failed, f"{len(failed)} of {len(logged)} calls failed on their way: {failed[:5]}")
    drains = ROUNDS * len(NAMES)
    print(f"{len(lines)} records imported and exported through HAProxy, {drains} drains: {shares} calls, none failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--configuration", type=Path, default=FLEET, help="another fleet.cfg")
    args = parser.parse_args()
    with Fleet(args.binary, args.configuration) as fleet:
        prove(fleet)


if __name__ == "__main__":
    sys.exit(main())
