"""Every operation of the service, by a Go client: the tests in go/, against the running binary."""

import os
import re
import subprocess

from back_ends.go_module import GO, MODULE, make, unformatted
from back_ends.stubs import api
from back_ends.test_operations import BOTH, LISTENS
from python.served import Scratch
from wire.metrics import metrics
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

# The first beat of a day earns it, whatever was watched.
RULES = '[{ id = "first-of-day", per = "user", watched = "0s", exact = true }]'
TEST = re.compile(r"^func (Test\w+)", re.M)
PASSED = re.compile(r"^--- PASS: (\w+)", re.M)
ANSWERED = re.compile(r'^heartline_grpc_calls_total\{method="(\w+)",status="ok"\} [1-9]', re.M)


def tokens():
    """By the names that the tests in go/ have for them."""
    return {
        "TOKEN": token("ranker", scope=BOTH),
        "TOKEN_READ": token("ranker", scope="heartline.read"),
        "TOKEN_WRITE": token("ranker", scope="heartline.write"),
        "TOKEN_USER": token(42),
        "TOKEN_EXPIRED": token("ranker", ttl=-60, scope=BOTH),
        "TOKEN_FORGED": token("ranker", key="x" * 40, scope=BOTH),
        "TOKEN_MALFORMED": "x.y.z",
    }


def snake_case(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class GoClient(Scratch):
    def serve(self, name, **settings):
        """A gateway, and where it listens for gRPC."""
        gateway = self.gateway(self.scratch / name, GRPC__LISTEN="127.0.0.1:0", **settings).start()
        return gateway, LISTENS.search(gateway.printed).group(1)

    def test_a_go_client_does_every_operation(self):
        module = self.scratch / "module"
        module.mkdir()
        files = sorted(MODULE.glob("*_test.go"))
        make(module, *files)
        self.assertEqual(unformatted(module), [])
        served, address = self.serve("served", REWARDS__RULES=RULES)
        crowded, crowded_address = self.serve("crowded", LIMITS__GRPC_CALLS="1", GRPC__DEADLINE="2s")
        addresses = {
            "HEARTLINE_GRPC": address, "HEARTLINE_GRPC_CROWDED": crowded_address, "HEARTLINE_ADMIN_CROWDED": crowded.admin,
        }
        done = subprocess.run(
            [GO, "test", "-v", "-count=1", f"-timeout={PATIENCE_SECONDS}s", "."], cwd=module, text=True,
            env={**os.environ, **addresses, **tokens()}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=4 * PATIENCE_SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        # None is left out: all that are written have passed, and the gateway has answered every method.
        written = [name for file in files for name in TEST.findall(file.read_text())]
        self.assertEqual(sorted(PASSED.findall(done.stdout)), sorted(written))
        methods = api.DESCRIPTOR.services_by_name["History"].methods_by_name
        self.assertLessEqual({snake_case(method) for method in methods}, set(ANSWERED.findall(metrics(served))))
