"""The examples of docs/back-ends.md do what they say."""

import os
import re
import subprocess
import sys

from back_ends import go_module
from back_ends.stubs import ROOT, make
from back_ends.test_operations import LISTENS
from python.served import Scratch
from wire.patience import PATIENCE_SECONDS

# What both print, but for the refusal at the end, which each prints as its library names it.
SAID = ["100 at 73 s of 300 s", "1 users"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(language):
    text = (ROOT / "docs/back-ends.md").read_text()
    return [block for name, block in BLOCK.findall(text) if name == language]


class Examples(Scratch):
    def serve(self):
        """A gateway, and what its caller needs to know."""
        gateway = self.gateway(GRPC__LISTEN="127.0.0.1:0").start()
        (line,) = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("heartline token")]
        shown = gateway.run(*line.split()[1:]).strip()
        return {"HEARTLINE_GRPC": LISTENS.search(gateway.printed).group(1), "TOKEN": shown}

    def run_example(self, *command, **environment):
        done = subprocess.run(
            command, cwd=self.scratch, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=4 * PATIENCE_SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.splitlines()

    def test_the_example_in_python_puts_and_reads(self):
        make(self.scratch)
        (code,) = blocks("python")
        (self.scratch / "back_end.py").write_text(code)
        said = self.run_example(sys.executable, "back_end.py", **self.serve())
        self.assertEqual(said, [*SAID, "INVALID_ARGUMENT mid: is missing None"])

    def test_the_example_in_go_puts_and_reads(self):
        go_module.make(self.scratch)
        (code,) = blocks("go")
        (self.scratch / "back_end.go").write_text(code)
        self.assertEqual(go_module.unformatted(self.scratch), [])
        said = self.run_example(go_module.GO, "run", ".", **self.serve())
        self.assertEqual(said, [*SAID, "InvalidArgument mid: is missing 0s"])
