"""`python -m auditor.order BINARY`: under strace, no ack is written before the sync that covers its beats.

For every ack: after the last of its frames was read from the socket, something must have been written to a file of
the data directory, that file synced, and the sync ended, before the write of the ack began.
"""

import argparse
import asyncio
import json
import random
import re
import shutil
import sys
import tempfile
import types
from collections import defaultdict
from pathlib import Path

import websockets.frames

from auditor.trace import CALLS, READS, SYNCS, WRITES, read_trace
from wire.dial import dial
from wire.gateway import Gateway
from wire.patience import PATIENCE_SECONDS, came
from wire.tokens import token

SOCKETS = 8
FRAMES = 40  # on each
IN_FLIGHT_MAX = 4
_BEATS = re.compile(rb'{"seq":(\d+),"beats":{"items":\[[^]]*\]}}')
_ACK = re.compile(rb'{"ack":{"seq":(\d+)[^}]*}}')

# Frames of a client are masked, and the trace would show noise; a mask of zeros leaves the text as it is.
websockets.frames.secrets = types.SimpleNamespace(token_bytes=bytes)


def main():
    parser = argparse.ArgumentParser(prog="auditor.order", description=__doc__)
    parser.add_argument("binary", type=Path)
    binary = parser.parse_args().binary
    scratch = Path(tempfile.mkdtemp(prefix="heartline-order-"))
    trace = scratch / "trace"
    # -D: the gateway is our own child, and the tracer ends with it.
    tracer = ["strace", "-D", "-f", "-tt", "-yy", "-s", "65536", "-e", f"trace={CALLS}", "-o", str(trace)]
    gateway = Gateway(binary, scratch / "data", scratch / "log", before=tracer)
    try:
        gateway.start()
        asyncio.run(_load(gateway.ws))
        pid, code = gateway.process.pid, gateway.stop(PATIENCE_SECONDS)
        ended = re.compile(rf"^{pid} .*\+\+\+ (exited|killed)", re.M)
        written = came(lambda: ended.search(trace.read_text(errors="replace")), every=0.05)
        faults, seen = judge(trace.read_text(errors="replace").splitlines(), gateway.data_dir)
    finally:
        gateway.kill()
        shutil.rmtree(scratch)
    if not written:
        faults.append("the trace does not come to the end of the gateway")
    if code != 0:
        faults.append(f"exit code {code} after SIGTERM")
    print(f"{seen['beats']} frames of beats read, {seen['acks']} acks written, {seen['syncs']} syncs between them")
    for fault in faults[:10]:
        print(f"FAULT order: {fault}")
    sys.exit(1 if faults else 0)


async def _load(url):
    await asyncio.gather(*(_play(url, mid) for mid in range(1, SOCKETS + 1)))


async def _play(url, mid):
    """New beats only, a few in flight: each must be committed for its ack."""
    socket, welcome, first = await dial(url, token(mid), open_timeout=PATIENCE_SECONDS)
    session, acked = random.getrandbits(64), first
    async with socket:
        for seq in range(first + 1, first + 1 + FRAMES):
            beat = {"kind": 1, "oid": str(seq % 5), "pos": seq, "state": "playing", "session": str(session)}
            items = [{**beat, "at": welcome["now"] - FRAMES + seq}]
            await socket.send(json.dumps({"seq": seq, "beats": {"items": items}}, separators=(",", ":")))
            while seq - acked >= IN_FLIGHT_MAX or (seq == first + FRAMES and acked < seq):
                acked = json.loads(await socket.recv())["ack"]["seq"]


class Stream:
    """One direction of one socket: a frame may come in several calls, and several in one."""

    def __init__(self):
        self._rest = b""

    def numbers(self, frame, call):
        """The numbers of the frames that this call completes."""
        self._rest += call.data()
        found = list(frame.finditer(self._rest))
        if found:
            self._rest = self._rest[found[-1].end() :]
        return [int(match[1]) for match in found]


def judge(lines, data_dir):
    """The faults, and how much of everything was seen: a trace without beats, acks or syncs proves nothing."""
    calls = [call for call in read_trace(lines) if call.ended is not None and not call.failed]
    commits = list(_commits(call for call in calls if call.file.startswith(data_dir)))
    received, sent, acked = defaultdict(Stream), defaultdict(Stream), defaultdict(int)  # all by socket
    seen, faults = {"beats": 0, "acks": 0, "syncs": len(commits)}, []
    read_at = defaultdict(dict)
    for call in calls:
        if call.name in READS:
            for seq in received[call.file].numbers(_BEATS, call):
                read_at[call.file][seq] = call.ended
                seen["beats"] += 1
        elif call.name in WRITES and not call.file.startswith(data_dir):
            for seq in sent[call.file].numbers(_ACK, call):
                seen["acks"] += 1
                covered = [at for s, at in read_at[call.file].items() if acked[call.file] < s <= seq]
                acked[call.file] = max(seq, acked[call.file])
                if not covered:
                    faults.append(f"ack {seq} on {call.file} answers no beats that were read")
                elif not any(max(covered) < written and synced < call.begun for written, synced in commits):
                    faults.append(f"ack {seq} on {call.file} in line {call.begun + 1}, read in line {max(covered) + 1}")
    expected = SOCKETS * FRAMES
    if seen["beats"] != expected or sum(acked.values()) != SOCKETS * (FRAMES + 1):
        faults.append(f"{expected} frames were sent and acked, the trace shows {seen}")
    return faults, seen


def _commits(calls):
    """For each sync: where the last write before it, to the same file, began, and where the sync ended."""
    last_write = {}
    for call in calls:
        if call.name in WRITES:
            last_write[call.file] = call
        elif call.name in SYNCS and call.file in last_write and last_write[call.file].ended < call.begun:
            yield last_write[call.file].begun, call.ended


if __name__ == "__main__":
    main()
