"""Events at a steady rate."""

import time

SLICE_SECONDS = 0.02


def send(side, events, rate):
    """Yields each part before it is sent."""
    began, size = time.monotonic(), max(1, round(rate * SLICE_SECONDS))
    for at in range(0, len(events), size):
        time.sleep(max(0, began + at / rate - time.monotonic()))
        part = events[at:at + size]
        yield part
        side.send(part)
