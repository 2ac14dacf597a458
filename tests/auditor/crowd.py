"""Many users with a socket each, who beat beside the auditor's users while things are killed: loadgen.

At its end it reads back all that it was told is stored.
"""

from wire.load import allow_sockets
from wire.loadgen import Loadgen, complaints, summary
from wire.metrics import metric
from wire.patience import until

NEW_CONTENTS = 0.05
# What was unacked at the end may wait for a process that starts.
DRAIN = "300s"
END_SECONDS_MAX = 900
BACK_SHARE = 0.9  # of the sockets: then the crowd is back
BACK_SECONDS_MAX = 300
LOOK_SECONDS = 0.1
# A kill without beats in flight shows nothing: of a gateway's sockets so many must have been on average.
RESENT_MIN = 5


class Crowd:
    def __init__(self, binary, sockets, rate, urls, scratch):
        allow_sockets()
        self.sockets = sockets
        load = ["--sockets", sockets, "--rate", rate, "--new-contents", NEW_CONTENTS, "--warm-up", "0s"]
        until_told = ["--until-stdin-ends", "--drain", DRAIN, "--reconnect", "--verify"]
        self._loadgen = Loadgen(binary.with_name("loadgen"), urls, scratch, *load, *until_told)
        self._loadgen.wait_for_acks()

    def wait_until_back(self, gateways):
        """Most of those whose gateway was killed have come again."""
        enough = BACK_SHARE * self.sockets

        def is_back():
            return sum(metric(gateway, "heartline_connections") for gateway in gateways) >= enough

        until(f"{enough:.0f} sockets", is_back, BACK_SECONDS_MAX, LOOK_SECONDS)

    def judge(self, kills):
        """Ends it; a line that tells of it, and what is wrong with it, as promises and texts. `kills`: of gateways."""
        code, report = self._loadgen.end(END_SECONDS_MAX)
        faults = [("I1", complaint) for complaint in complaints(code, report)]
        if report["resent"] < RESENT_MIN * kills:
            faults.append(("load", f"only {report['resent']} beats of the crowd were in flight at {kills} gateways' kills"))
        return summary(report), faults

    def kill(self):
        self._loadgen.kill()
