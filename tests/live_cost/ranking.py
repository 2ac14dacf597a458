"""How well the Frequent Items sketch of Apache DataSketches knows the most watched contents.

It counts the sessions that the benchmark counts, in maps of about as many entries. It cannot forget, so it is asked
before any session ends. The time of an update is mostly that of a call from Python.
"""

import sys
import time
from array import array

from datasketches import frequent_items_error_type, frequent_items_sketch

SESSIONS = 1_000_000
CONTENTS = 100_000
FIRST = 100
# A map of 2^n slots takes 3/4 as many entries.
LG_SIZES = [10, 11, 13, 14, 17]


def run(stream):
    contents, truth = _read(stream)
    print(f"{'entries':>8} {'recall':>8} {'off by':>8} {'missed':>8} {'stated':>8} {'ns':>8}")
    for lg_size in LG_SIZES:
        _judge(lg_size, contents, truth)


def _read(path):
    """The contents of the sessions that begin first, and the true counts."""
    numbers = array("I", path.read_bytes())
    if sys.byteorder != "little":
        numbers.byteswap()
    if len(numbers) != 2 * (SESSIONS + CONTENTS):
        raise SystemExit(f"{path} is not what the benchmark writes")
    return numbers[:SESSIONS].tolist(), numbers[2 * SESSIONS :][:CONTENTS].tolist()


def _judge(lg_size, contents, truth):
    sketch = frequent_items_sketch(lg_size)
    began = time.perf_counter_ns()
    for content in contents:
        sketch.update(content)
    nanos = (time.perf_counter_ns() - began) // len(contents)
    counted = sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
    ranked = sorted(counted, key=lambda one: (-one[1], one[0]))[:FIRST]
    least = sorted(truth, reverse=True)[FIRST - 1]
    found = {content for content, *_ in ranked}
    # Contents that are as popular as the last of them count as first, too.
    recall = sum(truth[content] >= least for content in found) / FIRST
    off = max(abs(estimate - truth[content]) for content, estimate, _, _ in ranked)
    missed = max((count for content, count in enumerate(truth) if count > least and content not in found), default=0)
    stated = max(upper - lower for _, _, lower, upper in ranked)
    outside = [content for content, _, lower, upper in ranked if not lower <= truth[content] <= upper]
    print(f"{3 * 2**lg_size // 4:>8} {recall:>8.2f} {off:>8} {missed:>8} {stated:>8} {nanos:>8}")
    if outside:
        raise SystemExit(f"{len(outside)} counts are outside of the sketch's own bounds")
