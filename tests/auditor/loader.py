"""One loader process: says `parked` on stdout; `go URL...` on stdin starts a round, at whose end it is parked again.

With one URL the round ends when the gateway is gone, with several when `park` is read.
"""

import argparse
import asyncio
import itertools
import sys

from auditor.device import Device
from auditor.journal import Journal
from auditor.viewer import Viewer

NEWCOMER_SECONDS = 2.0  # within which the newcomers of a round come
NEWCOMER_ROUNDS = 2  # that they stay: what was not answered in the first is sent again in the second


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, required=True, help="the first user's id")
    parser.add_argument("--users", type=int, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--crowded", action="store_true", help="the gateway may turn away who comes: there are others")
    parser.add_argument("--newcomers", type=int, default=0, help="users who come anew in each round")
    parser.add_argument("--first-newcomer", type=int, default=100_000, help="the first of them")
    parser.add_argument("--ack-delay", type=int, default=0, help="milliseconds that devices let steady beats wait")
    args = parser.parse_args()

    journal = Journal(args.journal)
    stay = list(_devices(args, journal, range(args.first, args.first + args.users)))
    newcomers, mids = [], itertools.count(args.first_newcomer)
    print("parked", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        urls = line.removeprefix("go ").split()
        come = list(_devices(args, journal, itertools.islice(mids, args.newcomers), NEWCOMER_SECONDS))
        newcomers = [*newcomers, come][-NEWCOMER_ROUNDS:]
        playing = [asyncio.create_task(device.play(urls)) for device in itertools.chain(stay, *newcomers)]
        if len(urls) > 1:
            await asyncio.to_thread(sys.stdin.readline)
            for device in playing:
                device.cancel()
        for end in await asyncio.gather(*playing, return_exceptions=True):
            if isinstance(end, Exception):
                raise end
        print("parked", flush=True)


def _devices(args, journal, mids, within=0):
    """Of these users, each of whom comes at some moment within so many seconds."""
    for mid in mids:
        viewer = Viewer(mid, args.seed, steady=args.ack_delay > 0)
        late = viewer.dice.uniform(0, within)
        yield from (Device(habits, journal, args.crowded, late, args.ack_delay) for habits in viewer.devices)


asyncio.run(main())
