"""The project's load generator as a child process: started, watched, and its one line of JSON read."""

import json
import re
import subprocess

from wire.patience import until
from wire.tokens import KEY

FIRST_MID = 1_000_000  # beyond the users of the auditor
_SECOND = re.compile(r"^ +\d+ s +\d+ sent, (\d+) acked, ", re.M)


class Loadgen:
    """One run; sockets take the `urls` in turns. `options` are those of its command line."""

    def __init__(self, binary, urls, scratch, *options):
        self._progress = scratch / "loadgen.log"
        command = [binary, *(word for url in urls for word in ("--url", url)), "--secret", KEY]
        command += ["--first-mid", FIRST_MID, *options]
        with open(self._progress, "wb") as progress:
            self._process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=progress
            )

    def wait_for_acks(self, count=1):
        """Until it was told of so many acks more, as far as it has said: once a second. At first that waits for its
        sockets, too."""
        enough = self.acked() + count
        until(f"{count} acks of loadgen", lambda: self._acked_so_far() >= enough)

    def _acked_so_far(self):
        if not self.is_running():
            raise RuntimeError(f"loadgen has ended: {self._progress.read_text()}")
        return self.acked()

    def acked(self):
        """Beats that were acked by the end of the last second."""
        return sum(map(int, _SECOND.findall(self._progress.read_text())))

    def is_running(self):
        return self._process.poll() is None

    def end(self, seconds):
        """Ends its standard input, and waits for its exit code and its report; no report is an error."""
        text, _ = self._process.communicate(timeout=seconds)
        if not text:
            raise RuntimeError(f"loadgen reports nothing: {self._progress.read_text()}")
        return self._process.returncode, json.loads(text)

    def kill(self):
        """Its own child processes end when it does."""
        self._process.kill()
        self._process.communicate()


def complaints(code, report):
    """What is wrong with a report whose sockets may have been lost, but no beat of theirs for good."""
    verified = report["verified"]
    if code != 0 or verified["missing"] or verified["unread"] or verified["stored"] != verified["acked"]:
        yield f"loadgen ended with {code} and read back {verified}"
    if report["acked"] != report["intended"] or report["unanswered"] or report["unsent"]:
        yield f"of {report['intended']} beats {report['sent']} were sent and {report['acked']} acked"
    if report["rejected"]:
        yield f"honest beats were rejected: {report['rejected']}"


def summary(report):
    verified = report["verified"]
    return (
        f"loadgen: {report['sockets']} sockets, {report['intended']} beats meant, {report['acked']} acked, "
        f"{report['reconnects']} reconnects, {report['resent']} resent, p99 {report['latency_ms']['p99']:.0f} ms; "
        f"{verified['acked']} contents acked, {verified['stored']} read back, {verified['missing']} missing, "
        f"{verified['unread']} unread"
    )
