"""A disk whose syncs fail when they are told to: `failing_sync.c`, put before libc."""

import subprocess
from pathlib import Path

IO_ERROR = "Input/output error"
# Patterns for the paths of what is synced: of the store, and of the event log.
JOURNAL = "*/store/*.jnl"
TABLES = "*/store/*/keyspaces/*"
EVENTS = "*/events/*"


class FailingDisk:
    """The library that fails syncs, and the file by which it is told to."""

    def __init__(self, scene):
        source = Path(__file__).with_name("failing_sync.c")
        library, self._order = scene.scratch / "failing_sync.so", scene.scratch / "order"
        compiler = ["cc", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(compiler, check=True)
        self.before = ["env", f"LD_PRELOAD={library}", f"FAILING_SYNC={self._order}"]

    def fail(self, place, mode):
        draft = self._order.with_suffix(".new")
        draft.write_text(f"{place} {mode}\n")
        draft.rename(self._order)

    def mend(self):
        self._order.unlink(missing_ok=True)
