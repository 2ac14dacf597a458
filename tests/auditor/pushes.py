"""Whether a device learns of what another one does on another gateway.

A push may be lost while something is away. When nothing is, one of a few must come. Each beat begins a session: those of a
session that goes on are pushed now and then only.
"""

import asyncio

from wire.client import Client, beat
from wire.patience import PATIENCE_SECONDS

BEATS_MAX = 20
# A push is waited for so long, before the next beat is sent.
PUSH_SECONDS = PATIENCE_SECONDS / BEATS_MAX
CONTENT = 1


async def beats_until_pushed(here, there, mid):
    """Of a user on both gateways: how many beats were sent here until one came there; None: none did."""
    async with await Client.open(here, mid, device="here") as sender:
        async with await Client.open(there, mid, device="there") as receiver:
            for number in range(1, BEATS_MAX + 1):
                at = sender.now()
                await sender.beats(beat(CONTENT, at, session=str(at)))
                if await _is_pushed(receiver, at):
                    return number
    return None


async def _is_pushed(receiver, at):
    try:
        async with asyncio.timeout(PUSH_SECONDS):
            while True:
                _, push = await receiver.frame("push")
                if push.get("record", {}).get("at") == at:
                    return True
    except TimeoutError:
        return False
