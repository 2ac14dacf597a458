"""What the documents tell a reader to start, as it stands there, but for the ports."""

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from deploy.files import BINARY, ROOT
from wire.gateway import Gateway
from wire.http import call
from wire.patience import PATIENCE_SECONDS, until
from wire.ports import quiet_port
from wire.tokens import KEY, token

SERVE = re.compile(r"^.*heartline serve --role (\w+)$", re.M)
PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
# Where a process listens that is told nothing.
DEFAULTS = {"SERVER": "7700", "ADMIN": "7701", "CONTROL": "7702"}


class HistoryService(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="heartline-documents-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        (self.scratch / "heartline").symlink_to(BINARY)
        self.ports = {}

    def port(self, written):
        """The same one each time that the text has it, or takes it for granted."""
        return self.ports.setdefault(written, str(quiet_port()))

    def start(self, role, script):
        """In a terminal of its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEARTLINE__")}
        listens = {f"HEARTLINE__{name}__LISTEN": f"127.0.0.1:{self.port(number)}" for name, number in DEFAULTS.items()}
        environment = {**kept, **listens, "HEARTLINE_KEY": KEY, "PATH": f"{self.scratch}:{os.environ['PATH']}"}
        log = self.scratch / f"{role}.log"
        with log.open("wb") as out:
            words = ["bash", "-ec", script]
            process = subprocess.Popen(words, cwd=self.scratch, env=environment, stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(f"{role} listens, or has ended", lambda: b"control listener: " in log.read_bytes() or process.poll() is not None)
        self.assertIsNone(process.poll(), log.read_text())

    def test_a_service_and_a_gateway_start_on_one_host(self):
        text = (ROOT / "docs/history-service.md").read_text()
        [block] = [found for found in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) if SERVE.search(found)]
        block = PORT.sub(lambda found: self.port(found[0]), block)
        roles = [found[1] for found in SERVE.finditer(block)]
        self.assertEqual(roles, ["history", "gateway"])
        for role in roles:
            self.start(role, script_of(block, role))
        public = f"http://127.0.0.1:{self.port(DEFAULTS['SERVER'])}"
        read = call(public, "GET", "/v1/history", headers={"Authorization": f"Bearer {token(42)}"})
        self.assertEqual((read.status, read.json()["records"]), (200, []), read.text)


class Views(unittest.TestCase):
    def blocks(self, language):
        return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs/views.md").read_text(), re.M | re.S)

    def test_the_settings_shown_first_are_the_defaults(self):
        defaults = tomllib.loads((ROOT / "deploy/heartline.toml").read_text())
        self.assertEqual(tomllib.loads(self.blocks("toml")[0])["views"], defaults["views"])

    def test_the_example_counts_a_view(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "heartline").symlink_to(BINARY)
            gateway = Gateway(BINARY, folder / "data", folder / "log")
            self.addCleanup(gateway.kill)
            gateway.start()
            script = self.blocks("sh")[0].replace("http://127.0.0.1:7700", gateway.http)
            environment = {**gateway.environment(), "PATH": f"{folder}:{os.environ['PATH']}"}
            done = subprocess.run(["bash", "-ec", script], env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            gateway.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        for answer in ('{"views":1,"counted":true}', '{"views":[1]}', '{"total":1,"days":[{"day":"'):
            self.assertIn(answer, done.stdout)


def script_of(block, role):
    """All lines up to the start of this role, but for other starts, which have a terminal of their own."""
    lines = block[: block.index(f" --role {role}")].splitlines()
    *before, start = [line for line in lines if not SERVE.match(line)]
    return "\n".join([*before, f"{start.replace('heartline serve', 'exec heartline serve')} --role {role}"])
