"""Cassandra, then Kafka, are away while beats pass: acks are as fast as before, and memory does not grow."""

import time
from pathlib import Path

PLAYERS = range(2_000_001, 2_000_201)
BEATS = 20  # of a frame
# Rounds of beats before anything is away: until the gateways know all users, and then to measure the usual time.
WARM_SHARE, USUAL_SHARE = 0.2, 0.5
ACKS_WORSE_MAX = 3
MEMORY_MORE_MAX = 0.10
# A job that catches up has its batches and buffers full, however long the backlog is.
CATCH_UP_BYTES = 4 << 20


def run(part, beats):
    scene = part.scene
    _pass(part, int(beats * WARM_SHARE))
    before = _pass(part, int(beats * USUAL_SHARE))
    _away(part, "Cassandra", beats, before, scene.cassandra.pause, scene.cassandra.resume)
    _away(part, "Kafka", beats, before, scene.kafka.kill, scene.kafka.start)


def _away(part, name, beats, before, leave, come_back):
    scene = part.scene
    processes = {f"gateway {n}": gateway for n, gateway in enumerate(scene.gateways)}
    processes |= {f"job {n}": job for n, job in enumerate(scene.jobs)}
    sizes = {who: _resident(process) for who, process in processes.items()}
    leave()
    try:
        figures = _pass(part, beats, drain=False)
        waiting = scene.redis.listed_users()
        away = _grown(processes, sizes)
    finally:
        come_back()
    rows, began = scene.counted("heartline_history_job_rows_total"), time.monotonic()
    scene.wait_until_drained()
    seconds = time.monotonic() - began
    caught_up = _grown(processes, sizes)
    rows = scene.counted("heartline_history_job_rows_total") - rows
    part.judge(PLAYERS)
    usual, now = _p99(before), _p99(figures)
    part.expect(not figures.broken, "away", f"{figures.broken} connections or answers broke without {name}")
    part.expect(now <= ACKS_WORSE_MAX * usual, "away", f"p99 of acks is {now:.3f} s without {name}, was {usual:.3f} s")
    for who, size in sizes.items():
        more, most = size * MEMORY_MORE_MAX, CATCH_UP_BYTES if who.startswith("job") else 0
        text = f"{who} grew from {size >> 10} KiB by {away[who] >> 10} KiB without {name}"
        part.expect(away[who] <= more, "memory", text)
        text = f"{who} grew from {size >> 10} KiB by {caught_up[who] >> 10} KiB until all that waited for {name} was written"
        part.expect(caught_up[who] <= more + most, "memory", text)
    mebi = {who: [bytes / (1 << 20) for bytes in (sizes[who], away[who], caught_up[who])] for who in processes}
    sizes_text = ", ".join(
        f"{who} {size:.0f} MiB {more:+.1f} MiB, caught up {most:+.1f} MiB" for who, (size, more, most) in mebi.items()
    )
    print(
        f"away: {figures.beats} beats without {name}, p99 of acks {now * 1000:.0f} ms (with it {usual * 1000:.0f} ms), "
        f"{waiting} users listed; {sizes_text}; {rows:.0f} rows in {seconds:.1f} s when it is back",
        flush=True,
    )


def _pass(part, beats, drain=True):
    """So many beats."""
    for process in [*part.scene.gateways, *part.scene.jobs]:
        _forget_peak(process)
    part.crowd.pace(PLAYERS, part.scene.places, BEATS, beats)
    figures = part.crowd.figures()
    part.figures.add(figures)
    if drain:
        part.scene.wait_until_drained()
    return figures


def _grown(processes, sizes):
    """By how many bytes each has exceeded its size since then."""
    return {who: _peak(process) - sizes[who] for who, process in processes.items()}


def _p99(figures):
    return sorted(figures.ack_seconds)[int(len(figures.ack_seconds) * 0.99)]


def _resident(process):
    return _memory(process, "VmRSS")


def _peak(process):
    """The most since it was forgotten."""
    return _memory(process, "VmHWM")


def _forget_peak(process):
    Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")


def _memory(process, name):
    """Bytes."""
    lines = Path(f"/proc/{process.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
