"""`python -m faults.table BINARY`: a table cannot be synced, beside commits that go on.

The gateway ends as after a failed commit. Everything that was acked is in the journal, and there after a restart.
"""

import sys
import time

from faults.failing_disk import IO_ERROR, TABLES, FailingDisk
from faults.scene import TABLES_UNWRITTEN, UNTIL_TOLD, Scene, arguments

SOCKETS = 2_000
RATE = 8_000
# As many as fill a table in the making take a while on a busy machine.
FILL_SECONDS_MAX = 600
MENDED_ACKS = 2 * RATE


def main():
    args = arguments(__doc__)
    with Scene(args) as scene:
        table_failed_under_load(scene, FailingDisk(scene))
        sys.exit(scene.verdict())


def table_failed_under_load(scene, disk):
    gateway = scene.gateway(before=disk.before).start()
    # Only new rows, as many as fill a table in the making.
    load = ["--sockets", SOCKETS, "--rate", RATE, "--new-contents", 1, "--reconnect"]
    crowd = scene.crowd(gateway, *load, *UNTIL_TOLD)
    began = time.monotonic()
    disk.fail(TABLES, "keep")
    scene.ended_by_itself(gateway, IO_ERROR, TABLES_UNWRITTEN, seconds=FILL_SECONDS_MAX)
    scene.say(f"a table could not be synced: ended after {time.monotonic() - began:.0f} s")
    disk.mend()
    gateway.start()
    crowd.wait_for_acks(MENDED_ACKS)
    scene.judge_crowd(crowd)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")


if __name__ == "__main__":
    main()
