"""`python -m readme`: every code block of README.md, literally but for the port, against the real binary."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wire.gateway import Gateway
from wire.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ["HEARTLINE_BIN"])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PORT = "127.0.0.1:7700"


def main():
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    scratch = Path(tempfile.mkdtemp(prefix="heartline-readme-"))
    # The reader stands in the repository; what the gateway leaves there must not stay in ours.
    (scratch / "target" / "release").mkdir(parents=True)
    (scratch / "target" / "release" / "heartline").symlink_to(BINARY)
    gateway = Gateway(BINARY, scratch / "heartline-data", scratch / "log", AUTH__HS256_SECRET="")
    try:
        gateway.start()
        reader = Reader(scratch, gateway.http.removeprefix("http://"))
        ran = {language: run(reader, _of(blocks, language)) for language, run in RUNS.items()}
    finally:
        gateway.kill()
        shutil.rmtree(scratch)
    for language, complaint in ran.items():
        print(f"not ok  the README's {language} {complaint}" if complaint else f"ok  the README's {language}")
    unknown = {language for language, _ in blocks} - RUNS.keys()
    if unknown:
        print(f"not ok  not run: the README's {unknown}")
    sys.exit(1 if unknown or any(ran.values()) else 0)


def _of(blocks, language):
    return [text for name, text in blocks if name == language]


class Reader:
    """The shell of a reader: in the repository, with a gateway running."""

    def __init__(self, directory, address):
        self.directory, self.address = directory, address

    def write(self, name, text):
        """The text as a file, with the port of the gateway that runs for this test."""
        path = self.directory / name
        path.write_text(text.replace(PORT, self.address))
        return path

    def run(self, *command, **environment):
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=4 * PATIENCE_SECONDS,
        )
        return done.returncode, done.stdout

    def token(self):
        return self.run("target/release/heartline", "token", "--mid", "42")[1].strip()

    def says(self, wanted, *command, **environment):
        """A complaint unless the command succeeds and says all of it."""
        code, output = self.run(*command, **environment)
        missing = [word for word in wanted if word not in output]
        return f"(exit code {code}, missing {missing}):\n{output}" if code or missing else ""


def _bash(reader, blocks):
    """What is installed first. The packages of the system are looked up only: they need root, and tests have them."""
    for block in blocks:
        system, *others = block.splitlines()
        install = "sudo apt-get install -y "
        if not system.startswith(install):
            return f"does not begin with {install}:\n{block}"
        if complaint := reader.says([], "apt-get", "install", "--simulate", *system.removeprefix(install).split()):
            return complaint
        if complaint := reader.says([], "bash", "-ec", "\n".join(others)):
            return complaint
    return ""


def _sh(reader, blocks):
    start, *steps = blocks
    if start.strip() != "cargo run --release":
        return f"does not begin with the start of the gateway:\n{start}"
    script = reader.write("steps.sh", "set -e\n" + "\n".join(steps))
    return reader.says(['"rejected":[]', '"pos":73200', '{"welcome":', '{"result":{"seq":2'], "bash", str(script))


def _js(reader, blocks):
    for number, block in enumerate(blocks):
        script = reader.write(f"console-{number}.js", block)
        console = Path(__file__).with_name("console.mjs")
        command = ("node", str(console), f"http://{reader.address}", str(script), reader.token())
        for gateway, wanted in [("served", []), ("refused", ["plays"]), ("silent", ["plays"])]:
            if complaint := reader.says([*wanted, "on disk up to frame"], *command, gateway):
                return f"with a gateway that is {gateway} {complaint}"
    return ""


def _python(reader, blocks):
    for block in blocks:
        script = reader.write("client.py", block)
        wanted = ["playing 1000 on disk", "playing 5000 on disk", "paused 10000 on disk", "'pos': 10000"]
        if complaint := reader.says(wanted, "venv/bin/python", str(script), TOKEN=reader.token()):
            return complaint
    return ""


def _toml(reader, blocks):
    for block in blocks:
        config = reader.write("heartline.toml", block)
        command = ("target/release/heartline", "check-config", "--config", str(config))
        # The text below the block says where the key comes from.
        if complaint := reader.says(["[server]"], *command, HEARTLINE__AUTH__HS256_SECRET="k" * 32):
            return complaint
    return ""


def _shell(reader, blocks):
    """What needs an engine for containers, with a program in its place that checks the files (docker.py)."""
    places = reader.directory / "bin"
    places.mkdir()
    docker = places / "docker"
    docker.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("docker.py")} "$@"\n')
    docker.chmod(0o755)
    for number, block in enumerate(blocks):
        script = reader.write(f"docker-{number}.sh", f"set -e\nPATH={places}:$PATH\n{block}")
        if complaint := reader.says(["eyJ"], "bash", str(script), README_ROOT=str(ROOT)):
            return complaint
    return ""


# In this order: what is installed first is used after.
RUNS = {"bash": _bash, "sh": _sh, "shell": _shell, "js": _js, "python": _python, "toml": _toml}

if __name__ == "__main__":
    main()
