"""A wall clock that is set while a process runs: libfaketime, put before libc. The monotonic clock stays as it is."""

import sys
from pathlib import Path

_PLACES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")


class SteppingClock:
    def __init__(self, scene):
        found = [path for place in _PLACES for path in Path("/").glob(place.lstrip("/"))]
        if not found:
            sys.exit("libfaketime is missing; run: apt-get install -y faketime")
        self._file = scene.scratch / "faketime"
        self.set(0)
        self.before = [
            "env", f"LD_PRELOAD={found[0]}", f"FAKETIME_TIMESTAMP_FILE={self._file}", "FAKETIME_NO_CACHE=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1",
        ]

    def set(self, days):
        """So many days ahead of the truth, at once."""
        self._write(f"{days:+}d")

    def set_seconds(self, seconds):
        """So many seconds ahead of the truth, at once."""
        self._write(f"{seconds:+}")

    def _write(self, ahead):
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{ahead}\n")
        draft.rename(self._file)
