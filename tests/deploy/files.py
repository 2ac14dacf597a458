"""Where the files are, and what is read of them by more than one test."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ["HEARTLINE_BIN"])
COMPOSE = ROOT / "docker-compose.yml"
FLEET = ROOT / "deploy/fleet/docker-compose.yml"


def properties(path):
    """The settings of a file of `name=value` lines."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def directives(path):
    """The settings of a file of `name value...` lines."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def presets(path):
    """What haproxy.cfg assumes of the environment."""
    words = (line.split(None, 2) for line in path.read_text().splitlines())
    return {word[1]: word[2].strip() for word in words if word[:1] == ["presetenv"]}
