"""A disk whose syncs fail when they are told to: `failing_sync.c`, put before libc."""

import os
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
        sources = [Path(__file__).with_name(name) for name in ("failing_sync.c", "lost_pages.c")]
        library, self._order = scene.scratch / "failing_sync.so", scene.scratch / "order"
        compiler = ["cc", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", library, *sources, "-ldl"]
        subprocess.run(compiler, check=True)
        self._list = self._order.with_suffix(".lost")
        self.before = ["env", f"LD_PRELOAD={library}", f"FAILING_SYNC={self._order}"]

    def fail(self, place, mode):
        draft = self._order.with_suffix(".new")
        draft.write_text(f"{place} {mode}\n")
        draft.rename(self._order)

    def mend(self):
        self._order.unlink(missing_ok=True)

    def lost_bytes(self):
        """What a power cut would take now."""
        return sum(end - start for _, start, end, _ in self._lost())

    def cut_power(self):
        """What failed syncs have left in the page cache only is gone. Of a gateway that was killed just now."""
        for inode, start, end, path in self._lost():
            with open(path, "r+b") as file:
                if os.fstat(file.fileno()).st_ino == inode:
                    os.pwrite(file.fileno(), bytes(end - start), start)
        self._list.unlink(missing_ok=True)

    def _lost(self):
        lines = self._list.read_text().splitlines() if self._list.exists() else []
        for line in lines:
            inode, start, end, path = line.split(" ", 3)
            if Path(path).exists():
                yield int(inode), int(start), int(end), path
