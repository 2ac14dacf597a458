"""`python -m faults.clock_apart BINARY`: a clock that was ahead of Redis's is corrected, as by NTP.

A gateway that was ahead from its start, and has served nothing, serves when the wall clock is right. One that has acked
something cannot go back: it ends with a code with which a supervisor starts it again, and the next process serves.
"""

import asyncio
import subprocess
import sys

from auditor.rules import SETTINGS
from faults.scene import Scene, arguments
from faults.stepping_clock import SteppingClock
from tiers.redis_server import SINGLE, Redis
from wire.client import Client, beat
from wire.http import call
from wire.patience import until

MID = 42
CLOCK_AHEAD = 75
# Ahead of the truth: more than a gateway may be.
SECONDS = (3, 45)


def main():
    args = arguments(__doc__)
    with Scene(args) as scene:
        clock = SteppingClock(scene)
        redis = Redis(SINGLE, scene.scratch / "redis").start()
        scene.at_end(redis.stop)
        store = {"STORE__HOT_STORE": "redis", "REDIS__URL": redis.url}
        gateway = scene.gateway(scene.scratch / "data", clock.before, **SETTINGS, **store)
        gateway.run("init")
        for seconds in SECONDS:
            ahead_at_a_start(scene, clock, gateway, seconds)
            ahead_while_serving(scene, clock, gateway, seconds)
        sys.exit(scene.verdict())


def ahead_at_a_start(scene, clock, gateway, seconds):
    clock.set_seconds(seconds)
    gateway.start()
    until("the gateway is not ready", lambda: _is_off(gateway))
    told = _clock_command(gateway)
    scene.expect("ahead of the store's: it serves no client" in told and "believed" not in told, f"heartline clock: {told}")
    clock.set_seconds(0)
    until("the gateway is ready when its clock is corrected", lambda: not _reasons(gateway))
    scene.expect("clock_fell_back" in gateway.stderr(), "the log does not say that the clock fell back")
    told = _clock_command(gateway)
    scene.expect("is believed" in told, f"heartline clock: {told}")
    asyncio.run(_play(scene, gateway))
    scene.say(f"{seconds} s ahead at the start, then corrected: it serves")


def ahead_while_serving(scene, clock, gateway, seconds):
    """The gateway serves."""
    clock.set_seconds(seconds)
    until("the gateway is not ready", lambda: _is_off(gateway))
    scene.expect(not gateway.ends_within(2), "the gateway ended while its clock was ahead")
    clock.set_seconds(0)
    code = gateway.wait()
    scene.expect(code == CLOCK_AHEAD, f"the exit code is {code}")
    last = gateway.stderr().splitlines()[-1]
    scene.expect("start again" in last, f"the last line is {last}")
    gateway.start()
    until("the next process is ready", lambda: not _reasons(gateway))
    asyncio.run(_play(scene, gateway))
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"{seconds} s ahead after an ack, then corrected: it ended with {code}, and the next one serves")


async def _play(scene, gateway):
    async with await Client.open(gateway, MID) as client:
        rejected = await client.beats(beat(1, client.now()))
        scene.expect(not rejected, f"a beat was rejected: {rejected}")


def _reasons(gateway):
    return call(gateway.admin, "GET", "/readyz").json().get("reasons", [])


def _is_off(gateway):
    return any("ahead of the store's" in reason for reason in _reasons(gateway))


def _clock_command(gateway):
    environment = gateway.environment() | {
        "HEARTLINE__CONTROL__LISTEN": gateway.control.removeprefix("http://"),
    }
    command = [gateway.binary, "clock"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
