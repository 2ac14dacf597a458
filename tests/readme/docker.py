"""`docker`, as far as README.md uses it, without an engine: checks the files that a command names, and runs the gateway's
own commands with the real binary and the settings that the container would have.

    docker build -t IMAGE .
    docker run [OPTION...] IMAGE
    docker exec CONTAINER /heartline ARGUMENT...
    docker compose up ...
    docker compose exec SERVICE /heartline ARGUMENT...
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["README_ROOT"])
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = (ROOT / "docker-compose.yml").read_text()
# What was run, with its settings, for the commands that follow.
STARTED = Path("docker-started.json")


def main():
    match sys.argv[1:]:
        case ["build", "-t", image, "."]:
            print(f"built {image}")
        case ["run", *options]:
            run(options)
        case ["exec", container, "/heartline", *arguments]:
            heartline(arguments, json.loads(STARTED.read_text())[container])
        case ["compose", "up", *_]:
            print("started")
        case ["compose", "exec", service, "/heartline", *arguments]:
            if service not in re.findall(r"^  ([\w-]+):$", COMPOSE, re.M):
                sys.exit(f"docker-compose.yml has no service {service}")
            heartline(arguments, {"HEARTLINE__AUTH__HS256_SECRET": os.environ["HEARTLINE_KEY"]})
        case other:
            sys.exit(f"the README's docker {shlex.join(other)} is not known here")


def run(options):
    parser = argparse.ArgumentParser(prog="docker run")
    parser.add_argument("-d", action="store_true")
    parser.add_argument("-p", required=True)
    parser.add_argument("-v", required=True)
    parser.add_argument("-e", action="append", default=[])
    parser.add_argument("--name", required=True)
    parser.add_argument("--stop-timeout", type=int, required=True)
    parser.add_argument("image")
    given = parser.parse_args(options)
    volume, _, place = given.v.rpartition(":")
    if "/" in volume or not volume:
        sys.exit(f"{given.v}: no named volume, so the positions go with the container")
    if place not in instruction("VOLUME"):
        sys.exit(f"{place} is not where the image keeps its data")
    if given.p.rpartition(":")[2] not in instruction("EXPOSE"):
        sys.exit(f"{given.p}: the image does not listen there")
    settings = dict(setting.split("=", 1) for setting in [*instruction("ENV"), *given.e])
    heartline(["check-config"], settings)
    STARTED.write_text(json.dumps({given.name: settings}))


def instruction(name):
    """The words after an instruction of the Dockerfile."""
    return [word for line in DOCKERFILE.splitlines() if line.startswith(f"{name} ") for word in line.split()[1:]]


def heartline(arguments, settings):
    # The directory of the image is not there; the one of this test is.
    here = settings | {"HEARTLINE__STORE__DATA_DIR": "docker-data"}
    done = subprocess.run(["target/release/heartline", *arguments], env=here, check=False)
    if done.returncode:
        sys.exit(f"heartline {shlex.join(arguments)}: exit code {done.returncode}")


if __name__ == "__main__":
    main()
