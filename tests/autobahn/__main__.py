"""`python -m autobahn ECHO WSTEST REPORTS`: all applicable cases, several times at once. Exit code 1 if one failed.

ECHO is the server, WSTEST the suite's command, REPORTS a directory that is written anew. All clients talk to the one
thread of one server, so that whatever its connections share is in use by the others between any two frames.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from autobahn.judge import EXCLUDED, faults

AGENT = "heartline"
CLIENT_SECONDS_MAX = 900
# A server on a busy machine may take longer than the suite's default of 1 s to end a connection.
HANDSHAKES = {"openHandshakeTimeout": 30, "closeHandshakeTimeout": 10, "serverConnectionDropTimeout": 10}
FAULTS_SHOWN_MAX = 20


def main():
    args = _arguments()
    shutil.rmtree(args.reports, ignore_errors=True)
    args.reports.mkdir(parents=True)
    server = subprocess.Popen([args.echo], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    clients = []
    try:
        address = server.stdout.readline().strip()
        if not address:
            sys.exit(f"the server ended with exit code {server.wait()}")
        began = time.monotonic()
        clients = [Client(args.wstest, address, args.reports / str(n)) for n in range(args.clients)]
        # All are waited for, and then all are judged.
        sound = all([client.ended(began + CLIENT_SECONDS_MAX) for client in clients])
        print(f"{len(clients)} clients at once took {time.monotonic() - began:.0f} s")
        sound = all([client.judged() for client in clients]) and sound
        if server.poll() is not None:
            sys.exit(f"the server ended by itself, with exit code {server.returncode}")
    finally:
        for client in clients:
            client.stop()
        server.kill()
        server.wait()
    sys.exit(0 if sound else 1)


def _arguments():
    parser = argparse.ArgumentParser(prog="autobahn", description=__doc__.splitlines()[0])
    parser.add_argument("echo", type=Path)
    parser.add_argument("wstest", type=Path)
    parser.add_argument("reports", type=Path)
    parser.add_argument("--clients", type=int, default=3)
    return parser.parse_args()


class Client:
    """A fuzzing client, and the directory of its report."""

    def __init__(self, wstest, address, report):
        self._report = report
        report.mkdir()
        server = {"agent": AGENT, "url": f"ws://{address}"}
        spec = {
            "outdir": str(report),
            "options": HANDSHAKES,
            "servers": [server],
            "cases": ["*"],
            "exclude-cases": EXCLUDED,
        }
        (report / "spec.json").write_text(json.dumps(spec))
        command = [wstest, "--mode", "fuzzingclient", "--spec", report / "spec.json"]
        # Its own package is called autobahn, too.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with (report / "log").open("w") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def ended(self, until):
        """Waits for its end; whether it was a good one."""
        try:
            code = self._process.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return self._complain(f"not done after {CLIENT_SECONDS_MAX} s")
        return code == 0 or self._complain(f"ended with exit code {code}")

    def judged(self):
        index = self._report / "index.json"
        cases = json.loads(index.read_text()).get(AGENT, {}) if index.exists() else {}
        found = faults(cases)
        for fault in found[:FAULTS_SHOWN_MAX]:
            print(f"FAULT {fault}")
        if found:
            return self._complain(f"{len(found)} faults; {self._report}/index.html tells what was sent and received")
        behaviors = [case["behavior"] for case in cases.values()]
        counts = ", ".join(f"{behaviors.count(kind)} {kind}" for kind in sorted(set(behaviors)))
        print(f"{self._report.name}: {len(cases)} cases: {counts}")
        return True

    def stop(self):
        self._process.kill()
        self._process.wait()

    def _complain(self, what):
        last = (self._report / "log").read_text(errors="replace").splitlines()[-3:]
        print(f"client {self._report.name}: {what}; its last words:", *last, sep="\n  ")
        return False


main()
