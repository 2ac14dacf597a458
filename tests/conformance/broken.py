"""The example client with one fault each: what the fault breaks is the rule of its name.

`python -m conformance.broken RULE URL` lets the kit at URL test that client.
"""

import asyncio
import importlib.util
import sys

from . import faulty_connections, faulty_playbacks  # noqa: F401
from .faults import EXAMPLES, FAULTS


def _harness():
    """The one of the examples, whose name is that of this package, too."""
    spec = importlib.util.spec_from_file_location("example_harness", EXAMPLES / "conformance.py")
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    return harness


if __name__ == "__main__":
    rule, kit = sys.argv[1:]
    asyncio.run(_harness().main(kit, make=FAULTS[rule]))
