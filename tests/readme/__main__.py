"""`python -m readme`: every code block of README.md, literally but for the port, against the real binary."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wire.gateway import Gateway

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
        print(f"not ok  nobody runs the README's {unknown}")
    sys.exit(1 if unknown or any(ran.values()) else 0)


def _of(blocks, language):
    return [text for name, text in blocks if name == language]


class Reader:
    """Somebody in the repository, with a gateway running beside."""

    def __init__(self, directory, address):
        self.directory, self.address = directory, address
        # The command line of the Python package is where the package is.
        self._path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text.replace(PORT, self.address))
        return path

    def run(self, *command, **environment):
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={**os.environ, "PATH": self._path, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout

    def token(self):
        return self.run("target/release/heartline", "token", "--mid", "42")[1].strip()

    def says(self, wanted, *command, **environment):
        """A complaint unless the command succeeds and says all of it."""
        code, output = self.run(*command, **environment)
        missing = [word for word in wanted if word not in output]
        return f"(exit code {code}, missing {missing}):\n{output}" if code or missing else ""


def _sh(reader, blocks):
    two_commands, *steps = blocks
    if [line.split("#")[0].strip() for line in two_commands.splitlines()] != ["cargo run --release", "tests/run"]:
        return f"no longer begins with the two commands:\n{two_commands}"
    script = reader.write("steps.sh", "set -e\n" + "\n".join(steps))
    return reader.says(['"rejected":[]', '"pos":73200', '{"welcome":', '{"result":{"seq":2'], "bash", str(script))


def _js(reader, blocks):
    for number, block in enumerate(blocks):
        script = reader.write(f"console-{number}.js", block)
        console = Path(__file__).with_name("console.mjs")
        url = f"http://{reader.address}"
        if complaint := reader.says(["on disk up to frame"], "node", str(console), url, str(script), reader.token()):
            return complaint
    return ""


def _python(reader, blocks):
    for block in blocks:
        script = reader.write("client.py", block)
        wanted = ["playing 5000 on disk", "paused 10000 on disk", "'pos': 10000"]
        if complaint := reader.says(wanted, sys.executable, str(script), TOKEN=reader.token()):
            return complaint
    return ""


def _toml(reader, blocks):
    for block in blocks:
        config = reader.write("heartline.toml", block)
        command = ("target/release/heartline", "check-config", "--config", str(config))
        # The text above the block says where the key comes from.
        if complaint := reader.says(["[server]"], *command, HEARTLINE__AUTH__HS256_SECRET="k" * 32):
            return complaint
    return ""


def _shell(reader, blocks):
    """What needs Docker, without it: the key is made, the service is there, and its command does what it is to do."""
    services = re.findall(r"^  ([\w-]+):$", (ROOT / "docker-compose.yml").read_text(), re.M)
    for block in blocks:
        export, up, execute = [line.split("#")[0].strip() for line in block.splitlines()]
        service, program, *command = execute.removeprefix("docker compose exec ").split()
        if not up.startswith("docker compose up ") or service not in services or program != "/heartline":
            return f"does not start docker-compose.yml, or asks for {program} in {service}:\n{block}"
        line = f"{export}; HEARTLINE__AUTH__HS256_SECRET=$HEARTLINE_KEY target/release/heartline {' '.join(command)}"
        if complaint := reader.says(["eyJ"], "bash", "-c", line):
            return complaint
    return ""


RUNS = {"sh": _sh, "shell": _shell, "js": _js, "python": _python, "toml": _toml}

if __name__ == "__main__":
    main()
