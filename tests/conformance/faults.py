"""Where the faulty clients are gathered, each under the rule that it breaks."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
sys.path.append(str(EXAMPLES))

from client import Client  # noqa: E402

FAULTS = {}


def breaks(rule):
    """A subclass of Client, or of Playback, that breaks this rule."""

    def take(fault):
        FAULTS[rule] = fault if issubclass(fault, Client) else type("Broken", (Client,), {"Playback": fault})
        return fault

    return take
