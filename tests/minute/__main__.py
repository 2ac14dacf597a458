"""`python -m minute BINARY`: the operator's minute.

Ten faults, each on a gateway of its own that was well: within 60 s `/readyz`, the metrics, the alerts and the log say what
it is. Prints a table of what they say, and after how many seconds.
"""

import argparse
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minute.faults import FAULTS
from minute.site import PLACES, Site
from tiers.cassandra_node import CassandraNode
from tiers.kafka_broker import KafkaBroker

TOGETHER = 4
WIDTH = 150


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--only", action="append", help="the fault of this name; may be repeated")
    args = parser.parse_args()
    faults = [fault for fault in FAULTS if not args.only or fault.name in args.only]
    with tempfile.TemporaryDirectory(prefix="heartline-minute-") as scratch:
        wrong = Minute(args.binary, Path(scratch), faults).run()
    for name, what in wrong:
        print(f"FAULT {name}: {what}")
    sys.exit(1 if wrong else 0)


class Minute:
    def __init__(self, binary, scratch, faults):
        self._binary, self._scratch, self._faults = binary, scratch, faults
        self._kafka, self._cassandra = KafkaBroker(scratch / "kafka"), CassandraNode(scratch / "cassandra")
        self._wrong, self._lock = [], threading.Lock()

    def run(self):
        needs = {fault.needs for fault in self._faults}
        try:
            if "cassandra" in needs:
                self._cassandra.spawn()
            if needs - {"redis"}:
                self._kafka.spawn()
            # Those on Redis alone while the others start.
            self._together([fault for fault in self._faults if fault.needs == "redis"])
            if needs - {"redis"}:
                self._kafka.wait()
            self._together([fault for fault in self._faults if fault.needs == "kafka"])
            if "cassandra" in needs:
                self._cassandra.wait()
            self._together([fault for fault in self._faults if fault.needs == "cassandra"])
            self._together([fault for fault in self._faults if fault.needs == "kafka alone"])
        finally:
            self._cassandra.kill()
            self._kafka.kill()
        return self._wrong

    def _together(self, faults):
        with ThreadPoolExecutor(TOGETHER) as threads:
            list(threads.map(self._one, faults))

    def _one(self, fault):
        site = Site(self._binary, self._scratch / fault.name.replace(" ", "-"), self._kafka, self._cassandra, fault)
        try:
            wrong = site.run()
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        with self._lock:
            self._wrong += [(fault.name, what) for what in wrong]
            print(f"{fault.name}")
            for column in PLACES:
                seconds, text = site.seen.get(column, (None, ""))
                told = "never" if seconds is None else f"{seconds:4.1f} s  {text}"
                print(f"  {column:8} {told[:WIDTH]}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
