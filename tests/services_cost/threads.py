"""Processor time by the names of threads."""

import re
from collections import Counter
from pathlib import Path

from wire.processes import TICK_SECONDS


def cpu_by_thread(pids):
    """User and system time of the threads of these processes that are there now; numbers in names are left out."""
    used = Counter()
    for pid in pids:
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            # The name may hold spaces and brackets: utime and stime are the 12th and 13th of what follows it.
            head, _, tail = stat.read_text().rpartition(")")
            fields = tail.split()
            name = re.sub(r"[-_ ]?\d+", "", head.partition("(")[2])
            used[name] += (int(fields[11]) + int(fields[12])) * TICK_SECONDS
    return used
