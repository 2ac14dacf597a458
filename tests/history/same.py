"""What many users did through both gateways is the same in Cassandra."""

import json
import time

from history.scene import INTERVAL_MS, REGIONS
from history.topic import by_region

VISITS = 2  # of each user
FRAMES, BEATS = 2, 10  # of a visit: so many frames of so many beats
SHOWN = 5  # users of whom `heartline history` is asked
STATES = (None, "playing", "paused", "seeked", "ended")


def run(part, users):
    scene, began = part.scene, time.monotonic()
    mids = range(1, users + 1)
    for _ in range(VISITS):
        part.figures.add(part.crowd.visit(mids, scene.places, (FRAMES, BEATS)))
    played = time.monotonic() - began
    scene.wait_until_drained()
    drained = time.monotonic() - began
    part.expect(part.figures.beats >= users * VISITS * FRAMES * BEATS, "load", f"only {part.figures.beats} beats were acked")
    judge = part.judge(mids)
    part.expect(len(scene.table.everybody() - set(mids)) == 0, "same", "users are in the table who never came")
    part.expect(not (marks := scene.redis.marks()), "listing", f"marks are left: {marks[:5]}")
    _judge_packs(part, drained)
    for mid in part.dice.sample(mids, SHOWN):
        _judge_command(part, mid)
    print(
        f"same: {users} users sent {part.figures.beats} beats in {played:.0f} s and {part.figures.steps}; "
        f"drained {drained - played:.1f} s later; {judge.rows} rows, {judge.tombstones} tombstones, "
        f"{judge.watermarks} watermarks",
        flush=True,
    )


def _judge_packs(part, seconds):
    """Each region has one in an interval at most, by the counter of the gateways and by the messages themselves."""
    intervals = seconds * 1000 / INTERVAL_MS + 1
    counted = part.scene.counted("heartline_history_packs_total", part.scene.gateways)
    regions = by_region(part.scene.topic.messages())
    most = max(regions.values())
    part.expect(counted <= REGIONS * intervals, "packs", f"{counted:.0f} packs in {intervals:.0f} intervals")
    messages = sum(regions.values())
    part.expect(messages == counted, "packs", f"{messages} messages, {counted:.0f} packs counted")
    part.expect(len(regions) <= REGIONS, "packs", f"{len(regions)} regions")
    part.expect(most <= intervals, "packs", f"{most} packs of one region in {intervals:.0f} intervals")
    text = f"{counted:.0f} of {len(regions)} regions in {intervals:.0f} intervals, {most} of one region at most"
    print(f"packs: {text}", flush=True)


def _judge_command(part, mid):
    """`heartline history` prints the same, and finds no difference to Redis."""
    gateway = part.scene.gateways[0]
    printed = gateway.run("history", "--mid", str(mid))
    lines = [json.loads(line) for line in printed.splitlines()]
    known, watermark, switches = part.crowd.known([mid])[mid], 0, []
    if lines and "watermark" in lines[0]:
        first = lines.pop(0)
        watermark, switches = first["watermark"], [(switch["at"], switch["paused"]) for switch in first["switches"]]
    part.expect(known.least <= watermark <= known.most, "command", f"user {mid} has watermark {watermark}: {known}")
    part.expect(switches == known.switches, "command", f"user {mid} has switches {switches}: {known}")
    expected = {content: _told(*row) for content, row in known.as_of(watermark).items()}
    shown = {(line.pop("kind"), int(line.pop("oid"))): line for line in lines}
    versions = [line.pop("version", None) for line in shown.values()]
    part.expect(shown == expected, "command", f"user {mid}: printed is {shown}, not {expected}")
    part.expect(all(versions), "command", f"user {mid}: a line has no version: {printed}")
    compared = gateway.run("history", "--mid", str(mid), "--compare")
    part.expect(compared == printed, "command", f"user {mid}: --compare finds a difference: {compared}")


def _told(record, tombstone):
    if not record:
        return {"tombstone": tombstone}
    return record._asdict() | {"session": str(record.session), "state": STATES[record.state]}
