"""Waiting for what is to come: as long as it takes, up to a time that only something broken reaches."""

import asyncio
import inspect
import time

# What is slow is not wrong: this ends only a wait for what never comes.
PATIENCE_SECONDS = 120
LOOK_EVERY_SECONDS = 0.02


class NeverCame(Exception):
    """What was waited for in vain."""


def came(holds, seconds=PATIENCE_SECONDS, every=LOOK_EVERY_SECONDS):
    """Looks until it holds, and returns what that was; False when it never does."""
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > give_up:
            return False
        time.sleep(every)
    return found


def until(what, holds, seconds=PATIENCE_SECONDS, every=LOOK_EVERY_SECONDS):
    """The same, for what must come. `what` names it for the reader of the fault."""
    if not (found := came(holds, seconds, every)):
        raise NeverCame(f"not within {seconds} s: {what}")
    return found


def all_come(missing, seconds=PATIENCE_SECONDS, every=1.0):
    """Waits until `missing`, a number, is 0, for as long as it gets smaller; False when it stays the same for so long."""
    while left := missing():
        if not came(lambda: missing() < left, seconds, every):
            return False
    return True


async def until_meanwhile(what, holds, seconds=PATIENCE_SECONDS, every=LOOK_EVERY_SECONDS):
    """`until` in an event loop, which goes on; `holds` may be a coroutine."""
    give_up = time.monotonic() + seconds
    while True:
        found = holds()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        if time.monotonic() > give_up:
            raise NeverCame(f"not within {seconds} s: {what}")
        await asyncio.sleep(every)
