"""Latency of acks while 1,000 streams of live numbers are open, beside a gateway without any."""

import asyncio
import contextlib
import multiprocessing
import statistics
from urllib.parse import urlsplit

from live_cost.pair import SECONDS, Pair
from wire import load
from wire.patience import PATIENCE_SECONDS
from wire.tokens import CONTROL_TOKEN

STREAMS = 1_000
# The others may be lost at both ends.
EVENTS_MIN = SECONDS - 2


def run(binary, scratch, rounds, rate):
    latencies = [], []
    with Pair([binary, binary], scratch) as pair:
        for number in range(rounds):
            # The one with streams is the first and the second in turn.
            first = number % 2
            watched, other = pair.gateways[first], pair.gateways[1 - first]
            with _streams(watched.control) as events:
                reports = pair.reports(rate)
            reports = [reports[first], reports[1 - first]]
            if events.value < EVENTS_MIN * STREAMS:
                raise RuntimeError(f"{events.value} events on {STREAMS} streams: they were not served")
            told = []
            for of, report in zip(latencies, reports):
                of.append(report["latency_ms"])
                told.append(f"p50 {of[-1]['p50']:.1f} ms, p99 {of[-1]['p99']:.1f} ms")
            print(f"round {number}: {told[0]} with {events.value} events, {told[1]} without", flush=True)
    for name in ("p50", "p99"):
        with_streams, without = (statistics.median(one[name] for one in of) for of in latencies)
        print(f"{name}: {with_streams:.2f} ms with {STREAMS} streams, {without:.2f} without (medians)")
    print(f"{rate} beats/s of {load.USERS} users on each gateway")


@contextlib.contextmanager
def _streams(control):
    """Streams that are open and read meanwhile, in a process of their own, and the events that came so far."""
    events, opened, stop = multiprocessing.Value("q"), multiprocessing.Event(), multiprocessing.Event()
    reader = multiprocessing.Process(target=_read, args=(control, events, opened, stop))
    reader.start()
    try:
        if not opened.wait(PATIENCE_SECONDS):
            raise RuntimeError(f"{STREAMS} streams could not be opened")
        yield events
    finally:
        stop.set()
        reader.join()


def _read(control, events, opened, stop):
    asyncio.run(_read_all(control, events, opened, stop))


async def _read_all(control, events, opened, stop):
    readers = [await _open(control) for _ in range(STREAMS)]
    tasks = [asyncio.create_task(_count(reader, events)) for reader in readers]
    opened.set()
    await asyncio.get_running_loop().run_in_executor(None, stop.wait)
    for task in tasks:
        task.cancel()


async def _open(control):
    address = urlsplit(control)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"GET /v1/live/stream HTTP/1.1\r\nhost: {address.netloc}\r\nauthorization: Bearer {CONTROL_TOKEN}\r\n\r\n"
    writer.write(head.encode())
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(f"a stream was refused: {status}")
    return reader, writer


async def _count(stream, events):
    reader, _ = stream
    while line := await reader.readline():
        if line.startswith(b"event: live"):
            events.value += 1
