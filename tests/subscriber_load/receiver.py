"""The process of the endpoints: started, told how to answer, and what it has written down."""

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from wire.patience import PATIENCE_SECONDS


@dataclass(slots=True)
class Arrival:
    """An event that came to an owner."""

    at: float  # of time.monotonic()
    owner: int
    status: int  # of the answer; 0: none
    event: str


class Receiver:
    def __init__(self, node, log):
        self.process = subprocess.Popen(
            [node, Path(__file__).with_suffix(".mjs"), log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())
        self._log, self._rest = open(log), ""
        self.arrivals, self.confirmed = [], set()

    def url(self, owner):
        return f"http://127.0.0.1:{self.port}/{owner}/events"

    def behave(self, owner, **behaviour):
        """From now on; without a behaviour it is well."""
        self.process.stdin.write(json.dumps({"owner": str(owner), **behaviour}) + "\n")
        self.process.stdin.flush()

    def look(self):
        """Reads what was written since the last time."""
        *lines, self._rest = (self._rest + self._log.read()).split("\n")
        for line in lines:
            at, owner, status, *events = line.split(" ")
            for event in events:
                self.arrivals.append(Arrival(float(at) / 1_000, int(owner), int(status), event))
                if status == "200":
                    self.confirmed.add(event)

    def wait_for(self, events):
        """Until all are confirmed, or nothing has come for a while. Whether they are."""
        known, since = -1, time.monotonic()
        while True:
            self.look()
            if events <= self.confirmed:
                return True
            # Tries that fail come for ever.
            if len(self.confirmed) != known:
                known, since = len(self.confirmed), time.monotonic()
            if time.monotonic() - since > PATIENCE_SECONDS:
                return False
            time.sleep(0.2)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.look()
        self._log.close()
