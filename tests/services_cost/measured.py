"""One load on one side, and what it costs."""

import time
from dataclasses import dataclass

from services_cost.rows import rows
from services_cost.threads import cpu_by_thread
from wire.loadgen import Loadgen, complaints
from wire.metrics import acked, metric

WARM_UP_SECONDS = 8
END_SECONDS_MAX = 600
# Of the asked rate: what is slower is no comparison at the same rate.
RATE_SHARE_MIN = 0.97
GROUPS = "heartline_commit_group_slots"
CALLS = "heartline_history_service_commit_seconds"


@dataclass
class Cost:
    """Microseconds of processor time for each beat, by process and, of each, by the names of threads."""

    threads: dict
    sizes: dict  # beats of a call or a group
    beats: int
    seconds: float
    rows: int
    p50: float
    p99: float

    @property
    def processes(self):
        return {process: sum(threads.values()) for process, threads in self.threads.items()}

    @property
    def total(self):
        return sum(self.processes.values())

    def __str__(self):
        parts = ", ".join(f"{process} {used:.1f}" for process, used in self.processes.items())
        sizes = ", ".join(f"{what} {size:.1f}" for what, size in self.sizes.items())
        return (
            f"{self.total:.1f} µs a beat ({parts}); {self.beats} beats in {self.seconds:.1f} s, {self.rows} rows new in "
            f"Redis; {sizes}; p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms"
        )


def measure(args, scratch, side):
    gateways, before, rows_before = side.fleet.gateways, acked(*side.fleet.gateways), rows(side.fleet.redis)
    load = ["--sockets", args.sockets, "--rate", args.rate, "--new-contents", args.new_contents]
    options = [*load, "--warm-up", "0s", "--until-stdin-ends", "--verify"]
    loadgen = Loadgen(args.binary.with_name("loadgen"), side.fleet.urls, scratch, *options)
    try:
        loadgen.wait_for_acks()
        time.sleep(WARM_UP_SECONDS)
        first = Look(side)
        time.sleep(args.seconds)
        last = Look(side)
        code, report = loadgen.end(END_SECONDS_MAX)
    finally:
        loadgen.kill()
    new = rows(side.fleet.redis) - rows_before
    beats, seconds = last.beats - first.beats, last.at - first.at
    wrong = [*complaints(code, report), *(f"{kind}: {report[kind]}" for kind in ("errors", "closes") if report[kind])]
    if acked(*gateways) - before != report["acked"]:
        wrong.append(f"gateways say that they acked {acked(*gateways) - before}, loadgen {report['acked']}")
    if new != report["verified"]["acked"]:
        wrong.append(f"{report['verified']['acked']} contents were acked, and Redis has {new} more rows")
    if wrong:
        raise RuntimeError(f"the load on {side.name} was not served: {wrong}")
    if beats < RATE_SHARE_MIN * args.rate * seconds:
        print(f"{side.name} is overloaded: {beats / seconds:.0f} beats/s of {args.rate}", flush=True)
    latency = report["latency_ms"]
    return Cost(_threads(first, last), _sizes(first, last), beats, seconds, new, latency["p50"], latency["p99"])


class Look:
    """What was used and done so far."""

    def __init__(self, side):
        fleet = side.fleet
        self.at, self.beats = time.monotonic(), acked(*fleet.gateways)
        self.threads = {name: cpu_by_thread(pids) for name, pids in side.pids.items()}
        self.groups = {"beats of a gateway's group": self._counts(fleet.gateways, GROUPS)}
        if fleet.committers is not fleet.gateways:
            calls = self._counts(fleet.gateways, CALLS)[1]
            self.groups["beats of a call"] = (self.beats, calls)
            self.groups["beats of a service's group"] = self._counts(fleet.committers, GROUPS)

    @staticmethod
    def _counts(processes, histogram):
        """Its sum, and its count, of all of them."""
        return [sum(metric(process, f"{histogram}_{end}") for process in processes) for end in ("sum", "count")]


def _threads(first, last):
    beats = last.beats - first.beats
    return {
        process: {name: (used - first.threads[process].get(name, 0)) * 1e6 / beats for name, used in threads.items()}
        for process, threads in last.threads.items()
    }


def _sizes(first, last):
    def size(what):
        (beats, groups), (beats_before, groups_before) = last.groups[what], first.groups[what]
        return (beats - beats_before) / max(1, groups - groups_before)

    return {what: size(what) for what in last.groups}
