"""One loader process: says `parked` on stdout; `go URL` on stdin starts a round, at whose end it is parked again."""

import argparse
import asyncio
import sys

from auditor.device import Device
from auditor.journal import Journal
from auditor.viewer import Viewer


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, required=True, help="the first user's id")
    parser.add_argument("--users", type=int, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--crowded", action="store_true", help="the gateway may turn away who comes: there are others")
    args = parser.parse_args()

    journal = Journal(args.journal)
    viewers = [Viewer(mid, args.seed) for mid in range(args.first, args.first + args.users)]
    devices = [Device(habits, journal, args.crowded) for viewer in viewers for habits in viewer.devices]
    print("parked", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        url = line.removeprefix("go ").strip()
        await asyncio.gather(*(device.play(url) for device in devices))
        print("parked", flush=True)


asyncio.run(main())
