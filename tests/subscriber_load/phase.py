"""One phase of the load: what was earned in it, how old it came, and what it cost."""

import time
from dataclasses import dataclass

from subscriber_load.gauges import Gauges
from subscriber_load.judge import quantile
from subscriber_load.owners import QUIET_FROM
from wire.processes import cpu_seconds


@dataclass
class Phase:
    """Of the quiet owners' events. `ages`: seconds from the answer to the beat until the event came. `waits`: how much
    later it came than the first event, of any owner, that was not earned before it. Events go to the bus twice a
    second, which is most of an age and hides what happens after it; in a wait only that is left, but nothing that
    delays all owners.
    """

    earned: list
    all_came: bool
    ages: list
    waits: list
    lags: list
    seconds: float  # of the beats
    until_all_came: float  # likewise
    microseconds: float  # of processor time for each event that was confirmed
    receiver_share: float  # of a core

    @classmethod
    def run(cls, site, beats, receiver, users, rate, is_noisy, ill):
        """`ill`: owners from whom nothing is to come."""
        first, confirmed = len(receiver.arrivals), len(receiver.confirmed)
        gauges, received = Gauges(site, beats.answered), cpu_seconds(receiver.process.pid)
        gauges.start()
        began = time.monotonic()
        earned = beats.send(users, rate, is_noisy)
        seconds = time.monotonic() - began
        lags = gauges.lags()
        all_came = receiver.wait_for({one.event for one in earned if one.owner not in ill})
        used, until_all_came = gauges.end(), time.monotonic() - began
        return cls(
            earned, all_came, *delays(earned, receiver.arrivals[first:]), lags, seconds, until_all_came,
            1_000_000 * used / max(1, len(receiver.confirmed) - confirmed),
            (cpu_seconds(receiver.process.pid) - received) / until_all_came,
        )

    @property
    def age(self):
        return quantile(self.ages, 0.99)

    @property
    def wait(self):
        return quantile(self.waits, 0.99)

    @property
    def lag(self):
        return quantile(self.lags, 0.95)

    def __str__(self):
        return (
            f"{len(self.earned)} events, {len(self.earned) / self.seconds:.0f}/s; quiet owners' age "
            f"p50 {1_000 * quantile(self.ages, 0.5):.1f} ms, p99 {1_000 * self.age:.1f} ms, wait p99 "
            f"{1_000 * self.wait:.1f} ms; lag p95 {self.lag}, max {max(self.lags, default=0)}; "
            f"{self.microseconds:.0f} µs of processor time an event; receiver {self.receiver_share:.0%} of a core"
        )


def delays(earned, arrivals):
    """Ages and waits."""
    came, ages, waits, first = {}, [], [], float("inf")
    for arrival in arrivals:
        came.setdefault(arrival.event, arrival.at)
    for one in sorted(earned, key=lambda one: one.at, reverse=True):
        if one.event not in came:
            continue
        at = came[one.event]
        first = min(first, at)
        if one.owner >= QUIET_FROM:
            # An event may come before the answer to its beat.
            ages.append(max(0.0, at - one.at))
            waits.append(at - first)
    return ages, waits
