"""Reads every user's records back over the wire: a whole list in pages, and a `get` of everything ever sent."""

import asyncio
import json
import random
import time

from websockets.exceptions import ConnectionClosed, InvalidStatus

from auditor.journal import wall_ms
from wire.dial import dial
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

AT_ONCE = 50
GET_MAX = 500
LIMITS = (3, 7, 200)
AGAIN_SECONDS = 0.25
# Clients are gone, and what they sent last may still be on its way to the store.
SETTLED_SECONDS_MAX = 30
OVERLOADED = 1013


async def read_back(urls, ledgers, seed):
    """Compares all ledgers with what the gateways show now, each user on any gateway, while no client sends.

    A list may be read once more if the user went without all answers."""
    dice, gate = random.Random(seed), asyncio.Semaphore(AT_ONCE)
    limits = {ledger.mid: dice.choice(LIMITS) for ledger in ledgers}
    places = {ledger.mid: dice.choice(urls) for ledger in ledgers}

    async def one(ledger):
        give_up = time.monotonic() + (SETTLED_SECONDS_MAX if ledger.unsettled else 0)
        while True:
            async with gate:
                listed, got = await _read_user(places[ledger.mid], ledger, limits[ledger.mid])
            ledger.now = wall_ms()
            complaint = judge_user(ledger, listed, got)
            if not complaint or time.monotonic() > give_up:
                break
            await asyncio.sleep(AGAIN_SECONDS)
        ledger.unsettled = False
        if complaint:
            ledger.fault("list", complaint)

    await asyncio.gather(*(one(ledger) for ledger in ledgers))


async def _read_user(url, ledger, limit):
    contents = list(ledger.contents)
    socket, seq = await _come_in(url, ledger.mid)
    async with socket:
        reader = _Reader(socket, seq)
        listed, page = [], {"limit": limit}
        while page:
            result = await reader.ask(list=page)
            listed += result["records"]
            page = {"limit": limit, "cursor": result["cursor"]} if "cursor" in result else None
        got = {}
        for start in range(0, len(contents), GET_MAX):
            some = contents[start : start + GET_MAX]
            items = [{"kind": kind, "oid": str(oid)} for kind, oid in some]
            result = await reader.ask(get={"items": items})
            got |= dict(zip(some, result["records"], strict=True))
    return listed, got


async def _come_in(url, mid):
    """Connects again if refused for now, because of other connections or a slow store."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                socket, _, seq = await dial(url, token(mid), open_timeout=PATIENCE_SECONDS)
                return socket, seq
            except InvalidStatus as refused:
                if refused.response.status_code != 503:
                    raise
            except ConnectionClosed as closed:
                if closed.rcvd is None or closed.rcvd.code != OVERLOADED:
                    raise
            await asyncio.sleep(AGAIN_SECONDS)


class _Reader:
    """One socket, on which nothing else is asked."""

    def __init__(self, socket, seq):
        self._socket, self._seq = socket, seq

    async def ask(self, **operation):
        """Its result; an error that bids to try again is obeyed."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                self._seq += 1
                await self._socket.send(json.dumps({"seq": self._seq, **operation}))
                answer = await self._answer()
                if "result" in answer:
                    return answer["result"]
                if not answer["error"]["retry"]:
                    raise RuntimeError(f"{operation} was answered {answer}")
                await asyncio.sleep(AGAIN_SECONDS)

    async def _answer(self):
        while not {"result", "error"} & (answer := json.loads(await self._socket.recv())).keys():
            pass
        return answer


def judge_user(ledger, listed, got):
    """What is wrong with the list, if anything: what is committed while it is read moves records from page to page."""
    floor = ledger.floor()
    for content, record in got.items():
        ledger.judge(content, record, floor, "read back")
    times = [record["at"] for record in listed]
    if times != sorted(times, reverse=True):
        return f"not newest first: {times}"
    stored = [record for record in got.values() if record]
    if sorted(map(_text, listed)) != sorted(map(_text, stored)):
        return f"list shows {len(listed)} records, get {len(stored)}: {listed} and {stored}"
    return None


def _text(record):
    return json.dumps(record, sort_keys=True)
