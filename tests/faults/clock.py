"""`python -m faults.clock BINARY`: the wall clock steps, by more than the retention of the store.

A gateway that runs does not believe it: it says so, acks nothing and takes no requests until the wall clock is back, and
goes on where it was. Nothing that was acked is refused, hidden or removed by the wrong time, nor when it was wrong at a
start only. When the clock was wrong at the start and is right now, an operator says so, and the gateway goes on by it.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

from websockets.exceptions import InvalidStatus

from auditor.rules import SETTINGS
from faults.scene import Scene, arguments
from faults.stepping_clock import SteppingClock
from wire.client import Client, beat
from wire.dial import dial
from wire.http import call, control
from wire.metrics import metrics, wait_for_acks
from wire.patience import PATIENCE_SECONDS, until
from wire.tokens import CONTROL_TOKEN, token

DAYS = 100
DAY_SECONDS = 86_400
USERS = 40
# Of the client that looks closely; the auditor's users have small ones.
MID = 900_000
CONTENTS = 200
PRUNE_SECONDS = 3
# What may be seen of a step that is not followed must not come while these last: then there is nothing to wait for.
PASSES_SECONDS = 2 * PRUNE_SECONDS
UNANSWERED_SECONDS = 2
# Of the witnesses, before a step.
ACKS_PLAYED = 2_000
# Of a gateway that is a day off, or is not.
SECONDS_OFF_MAX = 60


def main():
    args = arguments(__doc__, steps=3)
    with Scene(args) as scene:
        clock = SteppingClock(scene)
        steps_while_serving(scene, clock)
        if scene.faults:
            sys.exit(scene.verdict())
        wrong_at_a_start(scene, clock)
        set_right_and_accepted(scene, clock)
        sys.exit(scene.verdict())


def steps_while_serving(scene, clock):
    gateway = _gateway(scene, clock, "steps").start()
    witnesses = scene.witnesses(USERS)
    for number in range(1, scene.args.steps + 1):
        days = DAYS if number % 2 else -DAYS
        witnesses.play(gateway)
        wait_for_acks(ACKS_PLAYED, gateway)
        until("an event of a reward", lambda: _event_times(gateway))
        asyncio.run(_step_and_back(scene, gateway, clock, days, MID + number))
        time.sleep(PASSES_SECONDS)  # two passes of the pruner, which must find nothing
        gateway.kill()
        witnesses.park()
        gateway.start()
        figures = witnesses.testify(gateway)
        scene.say(f"step {number}, {days:+} days: {figures}, {len(scene.faults)} faults")
    scene.say(witnesses.totals())
    witnesses.stop()
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")


def _gateway(scene, clock, name):
    settings = {**SETTINGS, "STORE__PRUNE_INTERVAL": f"{PRUNE_SECONDS}s"}
    return scene.gateway(scene.scratch / name, clock.before, **settings)


async def _step_and_back(scene, gateway, clock, days, mid):
    side = "forward" if days > 0 else "back"
    async with await Client.open(gateway, mid) as client:
        at = client.now()
        await client.beats(*(beat(oid, at) for oid in range(CONTENTS)))
        day, events = await _reward_day(gateway), _event_times(gateway)
        clock.set(days)
        scene.expect(len(await client.list()) == CONTENTS, "a step of the clock hides records")
        if scene.faults:
            return  # it is followed: nothing of what is waited for would come
        await _until("the gateway is not ready while the clock is wrong", lambda: _reasons(gateway))
        scene.expect(any(f"stepped {side}" in reason for reason in _reasons(gateway)), f"reasons: {_reasons(gateway)}")
        await _until("the metrics say so", lambda: _metric(gateway, 'ready{reason="clock"}') == 0)
        off = _metric(gateway, "clock_step_seconds") - days * DAY_SECONDS
        scene.expect(abs(off) < SECONDS_OFF_MAX, f"heartline_clock_step_seconds is {off:.0f} s off the step")
        status = await asyncio.to_thread(_status_of_a_beat, gateway, mid, at)
        scene.expect(status == 503, f"a request is answered {status} while the clock is wrong")
        scene.expect(await _upgrade_status(gateway, mid) == 503, "a socket is taken while the clock is wrong")
        waiting = asyncio.create_task(client.beats(beat(CONTENTS, client.now())))
        done, _ = await asyncio.wait([waiting], timeout=UNANSWERED_SECONDS)
        scene.expect(not done, f"a beat was answered while the clock was wrong: {done}")
        clock.set(0)
        rejected = await waiting
        scene.expect(not rejected, f"after the step a beat was rejected: {rejected}")
        await _until("the gateway is ready when the clock is back", lambda: not _reasons(gateway))
        await _until("no step is in doubt any more", lambda: _metric(gateway, "clock_step_seconds") == 0)
        scene.expect(await _reward_day(gateway) == day, "the day of the rewards has moved")
        times = _event_times(gateway)
        scene.expect(times[: len(events)] == events, "events are gone from the log")
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        late = [time for time in times if time > tomorrow]
        scene.expect(events and not late, f"of {len(times)} events these have a time of the wrong clock: {late[:3]}")
        scene.expect(len(await client.list()) == CONTENTS + 1, "records are missing after the step")
    steps = re.findall(r"^heartline_clock_steps_total (\d+)$", metrics(gateway), re.M)
    scene.expect(steps == ["1"], f"steps counted since the start: {steps}, not one")
    logged = [event for event in ("clock_step", "clock_step_over") if event not in gateway.stderr()]
    scene.expect(not logged, f"not logged: {logged}")


def _reasons(gateway):
    """Why it is not ready; none if it is."""
    return call(gateway.admin, "GET", "/readyz").json().get("reasons", [])


def _metric(gateway, name):
    return float(re.search(rf"^heartline_{re.escape(name)} (\S+)$", metrics(gateway), re.M)[1])


async def _reward_day(gateway):
    return (await asyncio.to_thread(call, gateway.http, "GET", "/v1/rewards/today", MID)).json()["day"]


def _event_times(gateway):
    events = control(gateway, "GET", "/v1/events?limit=1000").json()["events"]
    return [entry["event"]["time"] for entry in events]


def _lasting_token(mid):
    """Good by the wrong clock, too."""
    return token(mid, ttl=2 * DAYS * DAY_SECONDS)


def _status_of_a_beat(gateway, mid, at):
    authorization = {"Authorization": f"Bearer {_lasting_token(mid)}"}
    body = {"items": [beat(CONTENTS + 1, at)]}
    return call(gateway.http, "POST", "/v1/beats", body=body, headers=authorization).status


async def _upgrade_status(gateway, mid):
    try:
        socket, *_ = await dial(gateway.ws, _lasting_token(mid))
        await socket.close()
        return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def _until(what, holds):
    await asyncio.to_thread(until, what, holds)


def wrong_at_a_start(scene, clock):
    """Set right a moment later, as by NTP: by then a pass of the pruner may have looked at the time."""
    gateway = _gateway(scene, clock, "start").start()
    acked = asyncio.run(_some_records(gateway))
    until("an event of a reward", lambda: _event_times(gateway))
    events = _event_times(gateway)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    clock.set(DAYS)
    gateway.start()
    asyncio.run(_read_by_the_wrong_clock(gateway))
    clock.set(0)
    until("the gateway is not ready when the wall clock was set back by days", lambda: _reasons(gateway))
    time.sleep(2 * PASSES_SECONDS)  # passes of the pruner, which must find nothing
    gateway.kill()
    gateway.start()
    there = asyncio.run(_oids(gateway))
    scene.expect(there == acked, f"{len(acked - there)} of {len(acked)} records are gone after a start by a wrong clock")
    kept = _event_times(gateway)
    scene.expect(kept[: len(events)] == events, f"{len(kept)} of {len(events)} events after a start by a wrong clock")
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    figures = f"{len(there)} of {len(acked)} records and {len(kept)} of {len(events)} events are there"
    scene.say(f"started {DAYS} days ahead, then set right: {figures}")


def set_right_and_accepted(scene, clock):
    """A machine that started behind: the right time is a step, too, until an operator says which one is right."""
    clock.set(-1)
    gateway = _gateway(scene, clock, "behind").start()
    asyncio.run(_some_records(gateway))
    clock.set(0)
    until("the gateway is not ready when the wall clock stepped by a day", lambda: _reasons(gateway))
    until("clock_step is logged", lambda: 'event="clock_step"' in gateway.stderr())
    told = _clock_command(gateway)
    scene.expect("stepped forward by 1day" in told.stdout, f"heartline clock: {told}")
    scene.expect(_reasons(gateway), "ready after a mere question about the clock")
    told = _clock_command(gateway, "--accept")
    scene.expect(told.returncode == 0 and "is believed" in told.stdout, f"heartline clock --accept: {told}")
    until("the gateway is ready when the wall clock was accepted", lambda: not _reasons(gateway))
    off = asyncio.run(_seconds_off(scene, gateway))
    scene.expect(abs(off) < SECONDS_OFF_MAX, f"the gateway is {off:.0f} s off the clock that was accepted")
    for event in ("clock_accepted", "clock_step_over"):
        until(f"{event} is logged", lambda event=event: event in gateway.stderr())
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"started a day behind, set right and accepted: {off:.1f} s off")


def _clock_command(gateway, *options):
    listen = gateway.control.removeprefix("http://")
    settings = {"HEARTLINE__CONTROL__LISTEN": listen, "HEARTLINE__CONTROL__TOKEN": CONTROL_TOKEN}
    command = [gateway.binary, "clock", *options]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


async def _seconds_off(scene, gateway):
    """By the time that it tells, and takes beats by."""
    async with await Client.open(gateway, MID) as client:
        rejected = await client.beats(beat(CONTENTS, int(time.time() * 1000)))
        scene.expect(not rejected, f"a beat of now was rejected: {rejected}")
        return client.now() / 1000 - time.time()


async def _some_records(gateway):
    async with await Client.open(gateway, MID) as client:
        at = client.now()
        await client.beats(*(beat(oid, at) for oid in range(CONTENTS)))
    return await _oids(gateway)


async def _oids(gateway):
    async with await Client.open(gateway, MID) as client:
        return {record["oid"] for record in await client.list()}


async def _read_by_the_wrong_clock(gateway):
    async with Client(*await dial(gateway.ws, _lasting_token(MID))) as client:
        await client.list()


if __name__ == "__main__":
    main()
