"""What the kernel says of a process."""

import os
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of all its threads."""
    # The fields after the name, which may hold spaces: utime and stime are the 14th and 15th of all.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_SECONDS
