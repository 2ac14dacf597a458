"""`python -m faults.revoke BINARY`: users are revoked while a crowd beats.

Every connection of such a user is closed at once, and the user stays refused, also when the gateway is killed right
after its answer. Other users notice nothing. At once: within a multiple of what an exchange on one of these connections
took just before.
"""

import asyncio
import sys
import time

from websockets.exceptions import ConnectionClosed, InvalidStatus

from faults.scene import UNTIL_TOLD, Scene, arguments
from wire.client import Client, beat
from wire.dial import dial
from wire.http import call, control
from wire.tokens import token

OUT_RATIO_MAX = 20
# A faster exchange is noise.
EXCHANGE_SECONDS_MIN = 0.25
REVOKED_CODE = 4003
SOCKETS = 3_000
# Beats in a second. A gateway that is not optimized answers so many at once on two slow cores, whatever else runs there.
# --long has three times as many.
RATE = 3_000
CONNECTIONS = 2  # of each user
BEAT_PAUSE_SECONDS = 0.5
KILLS = 5


def main():
    args = arguments(__doc__, users=50, rate=RATE, sockets=SOCKETS)
    with Scene(args) as scene:
        gateway = scene.gateway().start()
        crowd = scene.crowd(gateway, "--sockets", args.sockets, "--rate", args.rate, *UNTIL_TOLD)
        users = list(range(1, args.users + 1))
        took = asyncio.run(revoke_all(scene, gateway, users))
        report = scene.judge_crowd(crowd)
        for kind in ("closes", "errors", "reconnects"):
            scene.expect(not report[kind], f"{kind} of the crowd: {report[kind]}")
        scene.say(f"{len(users)} users revoked under load, out after at most {max(took):.2f} s")
        users += kept_over_kills(scene, gateway, args.users + 1)
        scene.say(f"{len(users)} users stay out over {KILLS} kills, each right after a revocation")
        scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
        sys.exit(scene.verdict())


async def revoke_all(scene, gateway, users):
    """How long it took each connection from the request to its close."""
    took = []
    devices = {mid: [await _open(gateway, mid) for _ in range(CONNECTIONS)] for mid in users}
    exchanges = [await _exchange(client) for clients in devices.values() for client in clients]
    lives = {mid: [asyncio.create_task(_live(client)) for client in clients] for mid, clients in devices.items()}
    out_max = OUT_RATIO_MAX * max(EXCHANGE_SECONDS_MIN, *exchanges)
    for mid in users:
        scene.expect(not any(life.done() for life in lives[mid]), f"user {mid} was out before")
        asked = time.monotonic()
        await asyncio.to_thread(_revoke, scene, gateway, mid)
        for life in lives[mid]:
            done, _ = await asyncio.wait({life}, timeout=out_max - (time.monotonic() - asked))
            if not done:
                scene.fault(f"user {mid} is still there after {out_max:.1f} s")
                continue
            took.append(time.monotonic() - asked)
            scene.expect(life.result() == REVOKED_CODE, f"user {mid} was closed with {life.result()}")
        scene.expect(await _is_refused(gateway, mid), f"user {mid} comes in again")
    return took


async def _open(gateway, mid):
    return Client(*await dial(gateway.ws, token(mid)))


async def _exchange(client):
    """Seconds from a beat to its ack."""
    began = time.monotonic()
    await client.beats(beat(1, client.now()))
    return time.monotonic() - began


async def _live(client):
    """Beats until it is closed; with which code."""
    try:
        while True:
            await client.beats(beat(1, client.now()))
            await asyncio.sleep(BEAT_PAUSE_SECONDS)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


def _revoke(scene, gateway, mid):
    answer = control(gateway, "POST", "/v1/revoke", body={"mid": str(mid)})
    scene.expect(answer.status == 204, f"a revocation was answered {answer.status}: {answer.text}")


async def _is_refused(gateway, mid):
    """Wherever the token comes from."""
    if call(gateway.http, "GET", "/v1/history", mid).status != 403:
        return False
    try:
        await dial(gateway.ws, token(mid))
        return False
    except InvalidStatus as refused:
        if refused.response.status_code != 403:
            return False
    for place in ("subprotocol", "hello"):
        try:
            await dial(gateway.ws, token(mid), place)
            return False
        except ConnectionClosed as closed:
            if not closed.rcvd or closed.rcvd.code != REVOKED_CODE:
                return False
    return True


def kept_over_kills(scene, gateway, first):
    """One more user is revoked before each kill; all users revoked before stay refused, too."""
    users = list(range(1, first))
    for mid in range(first, first + KILLS):
        asyncio.run(_open_and_leave(gateway, mid))
        _revoke(scene, gateway, mid)
        gateway.kill()
        users.append(mid)
        gateway.start()
        back = [mid for mid in users if not asyncio.run(_is_refused(gateway, mid))]
        scene.expect(not back, f"after a kill these come in again: {back}")
    asyncio.run(_open_and_leave(gateway, first + KILLS))
    return users[first - 1 :]


async def _open_and_leave(gateway, mid):
    await (await _open(gateway, mid)).socket.close()


if __name__ == "__main__":
    main()
