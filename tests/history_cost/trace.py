"""Players who send a beat every five seconds: what Heartline makes of them, and one message and one write each."""

import json
import subprocess
import sys
import time

from history.scene import Scene
from history_cost import one_each
from history_cost.one_each import COLUMNS, TABLE, TOPIC, Beats
from wire import load
from wire.patience import until
from wire.processes import cpu_seconds

HEARTBEAT_SECONDS = 5
INTERVAL_MS = 30_000
# A content plays for about twenty minutes.
NEW_CONTENTS = HEARTBEAT_SECONDS / 1_200
RATE = load.USERS / HEARTBEAT_SECONDS
DONE_SECONDS_MAX = 3_600


def run(binary, scratch, seconds):
    scene = Scene(binary, scratch, jobs=1, interval_ms=INTERVAL_MS, hot_idle="30d")
    try:
        scene.start()
        ours = _carried(binary, scene, seconds)
        rows = _rows(scene, "history")
        print(f"{len(rows)} rows of {load.USERS} users are in the history store", flush=True)
        theirs = _one_each(scene, scratch / "state", Beats(rows, HEARTBEAT_SECONDS * 1_000))
        differ = set(rows) ^ set(_rows(scene, TABLE))
        print(f"the two tables differ in {len(differ)} rows")
        _compare(ours, theirs)
        if differ:
            raise RuntimeError(f"not the same final table: {sorted(differ)[:4]}")
    finally:
        scene.end()


def _carried(binary, scene, seconds):
    job, began = cpu_seconds(scene.jobs[0].process.pid), time.monotonic()
    cassandra = cpu_seconds(scene.cassandra.pid)
    report = load.run(binary, scene.urls, [], RATE, 0, seconds, NEW_CONTENTS)
    scene.wait_until_drained()
    counted = {name: scene.counted(f"heartline_history_{name}_total") for name in ("job_rows", "store_rows_written")}
    packs, sent, packed = (
        scene.counted(f"heartline_history_{name}_total", scene.gateways)
        for name in ("packs", "pack_bytes", "packed_rows")
    )
    cost = {
        "beats": report["acked"],
        "messages": packs,
        "bytes": sent,
        "compressed": scene.topic.bytes_on_disk(),
        "writes": counted["store_rows_written"],
        "processor": cpu_seconds(scene.jobs[0].process.pid) - job,
        "cassandra": cpu_seconds(scene.cassandra.pid) - cassandra,
    }
    _tell("heartline", cost)
    print(
        f"{report['sockets']} sockets, p99 of acks {report['latency_ms']['p99']:.0f} ms, {packed:.0f} rows packed, "
        f"{counted['job_rows']:.0f} written by the job in {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return cost


def _one_each(scene, state, beats):
    cassandra = cpu_seconds(scene.cassandra.pid)
    with scene.table.session() as session:
        session.execute(one_each.SCHEMA)
    sent = beats.publish(scene.kafka.address)
    began = time.monotonic()
    command = [sys.executable, "-m", "history_cost.one_each", scene.kafka.address, str(scene.cassandra.port), state]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        until("all is written", lambda: _is_done(scene, process), seconds=DONE_SECONDS_MAX, every=1)
        cost = {
            "beats": beats.count,
            "messages": beats.count,
            "bytes": sent,
            "compressed": scene.topic.bytes_on_disk(TOPIC),
            "writes": beats.count,
            "processor": cpu_seconds(process.pid),
            "cassandra": cpu_seconds(scene.cassandra.pid) - cassandra,
        }
        print(f"written in {time.monotonic() - began:.0f} s", flush=True)
    finally:
        process.kill()
        process.wait()
    _tell("one message and one write each", cost)
    return cost


def _rows(scene, table):
    """Of all users, with the columns that both tables have."""
    with scene.table.session() as session:
        session.default_fetch_size = 1_000
        return [row for row in session.execute(f"SELECT {', '.join(COLUMNS)} FROM {table}") if row[1] is not None]


def _is_done(scene, process):
    if process.poll() is not None:
        raise RuntimeError(process.stderr.read()[-2_000:])
    return scene.topic.lag(TOPIC, TOPIC) == 0


def _tell(name, cost):
    beats = cost["beats"]
    print(
        f"{name}: {beats} beats; for each of them {cost['messages'] / beats:.4f} messages, {cost['bytes'] / beats:.1f} "
        f"bytes ({cost['compressed'] / beats:.1f} on the broker's disk), {cost['writes'] / beats:.3f} rows written; "
        f"{cost['processor']:.1f} s of its processor, {beats / cost['processor']:.0f} beats a processor second "
        f"({cost['writes'] / cost['processor']:.0f} rows), {cost['cassandra']:.0f} s of Cassandra's",
        flush=True,
    )


def _compare(ours, theirs):
    def times(name):
        return theirs[name] / theirs["beats"] / (ours[name] / ours["beats"])

    names = ("messages", "bytes", "compressed", "writes", "processor", "cassandra")
    print(json.dumps({name: round(times(name), 1) for name in names}))
