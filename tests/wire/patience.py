"""Waiting for what is to come: as long as it takes, up to a time that only something broken reaches."""

import asyncio
import inspect
import time

PATIENCE_SECONDS = 90
LOOK_EVERY_SECONDS = 0.02


class NeverCame(Exception):
    """What was waited for in vain."""


def until(what, holds, seconds=PATIENCE_SECONDS, every=LOOK_EVERY_SECONDS):
    """Looks until it holds, and returns what that was. `what` names it for whoever reads that it never came."""
    give_up = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > give_up:
            raise NeverCame(f"not within {seconds} s: {what}")
        time.sleep(every)
    return found


async def until_meanwhile(what, holds, seconds=PATIENCE_SECONDS, every=LOOK_EVERY_SECONDS):
    """The same in an event loop, which goes on; `holds` may be a coroutine."""
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
