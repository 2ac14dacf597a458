"""Phases beside each other: what may grow when neighbours become noisy or ill, and by how much."""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Bound:
    """`ratio`: of the phase before in the same round. `floor`: below it, it is the machine."""

    promise: str
    what: str
    ratio: float
    floor: float


def bounds(rate):
    """By the name of what they are about in a phase. Events go to the bus twice a second, which is in ages and lags."""
    return {
        "age": Bound("age", "the p99 of quiet owners", 2, 0.05),
        "wait": Bound("wait", "that of their waits", 2, 0.1),
        # What is earned in a second.
        "lag": Bound("lag", "the lag of the bus", 2, rate),
    }


def beside(bound, pairs):
    """A fault if in most rounds it is much more than before, and enough to matter. `pairs`: before and now, of each round.

    One round may meet something else that the machine does.
    """
    broken = [(before, now) for before, now in pairs if now > max(bound.ratio * before, bound.floor)]
    if 2 * len(broken) <= len(pairs):
        return []
    shown = ", ".join(f"{now:.3g} after {before:.3g}" for before, now in broken)
    return [(bound.promise, f"{bound.what} is {shown}: in {len(broken)} of {len(pairs)} rounds above {bound.ratio}×")]


def ratio(pairs):
    """The median of the rounds."""
    return median(now / max(before, 0.001) for before, now in pairs)
