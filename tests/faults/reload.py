"""`python -m faults.reload BINARY`: SIGHUP with other keys and another certificate, while crowds beat.

No connection drops. New ones get the new certificate, tokens of a new key are taken, those of a removed one refused; a
file that cannot be used changes nothing. TLS sockets are the `websockets` package's, the others are loadgen's.
"""

import asyncio
import base64
import json
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

from websockets.exceptions import InvalidStatus

from faults.scene import UNTIL_TOLD, Scene, arguments
from faults.tls_crowd import TlsCrowd, context
from wire.client import Client, beat
from wire.dial import dial
from wire.patience import PATIENCE_SECONDS, until, until_meanwhile
from wire.tokens import KEY, token

SOCKETS = 3_000
# Beats in a second, as in revoke.py.
RATE = 3_000
TLS_PROCESSES = 2
# So many others come before a certificate is changed.
CERTIFICATE_LASTS_VISITS = (5, 40)
VISIT_PAUSE_SECONDS = 0.02


def main():
    args = arguments(__doc__, key_changes=6, tls_sockets=2_000, certificates=10, rate=RATE, sockets=SOCKETS)
    with Scene(args) as scene:
        keys_change(scene)
        certificates_change(scene)
        sys.exit(scene.verdict())


def keys_change(scene):
    keys = Keys(scene.scratch / "keys.json")
    keys.write(KEY, _key(0))
    gateway = scene.gateway(AUTH__HS256_SECRET="", AUTH__JWKS_FILE=keys.path, SERVER__WATCH_FILES="0s").start()
    crowd = scene.crowd(gateway, "--sockets", scene.args.sockets, "--rate", scene.args.rate, *UNTIL_TOLD)
    took = asyncio.run(_change_keys(scene, gateway, keys, crowd))
    _judge_crowd(scene, crowd)
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say(f"keys changed {len(took)} times under load, in effect after at most {max(took):.2f} s")


async def _change_keys(scene, gateway, keys, crowd):
    """Each key overlaps with the one before it, and then stands alone. How long each change took to hold."""
    took = []
    early = await _open(gateway, 1, _key(0))
    for number in range(1, scene.args.key_changes + 1):
        await asyncio.to_thread(crowd.wait_for_acks, scene.args.rate // 2)
        old, new = _key(number - 1), _key(number)
        scene.expect(not await _is_taken(gateway, new), "a key is taken that is not there yet")
        keys.write(KEY, old, new)
        took.append(await _reloaded(gateway, "the new key is taken", lambda: _is_taken(gateway, new)))
        scene.expect(await _is_taken(gateway, old), "the old key is refused while both are there")
        keys.write(KEY, new)
        took.append(await _reloaded(gateway, "the old key is refused", lambda: _is_refused(gateway, old)))
        scene.expect(await _is_taken(gateway, new), "the new key is refused once it is alone")
        keys.path.write_text('{"keys": [')
        gateway.process.send_signal(signal.SIGHUP)
        await _logged(gateway, "cannot reload keys", number)
        scene.expect(await _is_taken(gateway, new), "a file that cannot be used has changed something")
    # A connection stays until its token ends, even if the key of the token is long gone.
    await early.beats(beat(1, early.now()))
    await early.socket.close()
    return took


class Keys:
    """A JWK set of HS256 keys, in a file."""

    def __init__(self, path):
        self.path = path

    def write(self, *keys):
        encoded = [base64.urlsafe_b64encode(key.encode()).decode().rstrip("=") for key in keys]
        self.path.write_text(json.dumps({"keys": [{"kty": "oct", "alg": "HS256", "k": key} for key in encoded]}))


def _key(number):
    return f"key number {number} of the tests, long enough for HS256"


async def _open(gateway, mid, key):
    return Client(*await dial(gateway.ws, token(mid, key)))


async def _is_taken(gateway, key):
    try:
        client = await _open(gateway, 1, key)
    except InvalidStatus as refused:
        if refused.response.status_code != 401:
            raise
        return False
    await client.beats(beat(1, client.now()))
    await client.socket.close()
    return True


async def _is_refused(gateway, key):
    return not await _is_taken(gateway, key)


async def _reloaded(gateway, what, holds):
    """Sends SIGHUP, and looks until it holds; seconds."""
    gateway.process.send_signal(signal.SIGHUP)
    began = time.monotonic()
    await until_meanwhile(f"{what} after SIGHUP", holds)
    return time.monotonic() - began


async def _logged(gateway, text, times):
    await asyncio.to_thread(until, f"it is logged {times} times: {text}", lambda: gateway.stderr().count(text) >= times)


def _judge_crowd(scene, crowd):
    report = scene.judge_crowd(crowd)
    for kind in ("closes", "errors", "reconnects"):
        scene.expect(not report[kind], f"{kind} of the crowd: {report[kind]}")


def certificates_change(scene):
    files = Certificate(scene.scratch)
    now = files.renew()
    settings = {"SERVER__TLS_CERT": files.cert, "SERVER__TLS_KEY": files.key}
    gateway = scene.gateway(scene.scratch / "tls-data", SERVER__WATCH_FILES="0s", **settings).start()
    share = scene.args.tls_sockets // TLS_PROCESSES
    crowds = [TlsCrowd(gateway, 1_000 + n * share, share) for n in range(TLS_PROCESSES)]
    for crowd in crowds:
        scene.at_end(crowd.kill)
    for crowd in crowds:
        crowd.wait_until_connected()
    took, visits = asyncio.run(_change_certificates(scene, gateway, files, now))
    told = [crowd.end() for crowd in crowds]
    sockets, acked = sum(each["sockets"] for each in told), sum(each["acked"] for each in told)
    scene.expect(sockets == scene.args.tls_sockets, f"only {sockets} TLS sockets were there")
    for each in told:
        scene.expect(not each["lost"], f"TLS sockets were lost: {each['lost']}")
        scene.expect(each["went_on"] == each["sockets"], f"of TLS sockets only some went on beating: {each}")
    scene.expect(gateway.stop() == 0, "an exit code other than 0 after SIGTERM")
    scene.say(
        f"certificate changed {len(took)} times under {sockets} TLS sockets ({acked} beats acked, none lost), "
        f"{visits} others came meanwhile, in effect after at most {max(took):.2f} s"
    )


async def _change_certificates(scene, gateway, files, now):
    visitors = Visitors(scene, gateway, {now})
    coming = asyncio.create_task(visitors.come())
    took = []
    for number in range(1, scene.args.certificates + 1):
        await visitors.more(scene.dice.randint(*CERTIFICATE_LASTS_VISITS))
        new = await asyncio.to_thread(files.renew)
        visitors.known.add(new)

        async def shown(new=new):
            return await visitors.visit() == new

        took.append(await _reloaded(gateway, "the new certificate is shown", shown))
        visitors.known = {new}
        files.spoil()
        gateway.process.send_signal(signal.SIGHUP)
        await _logged(gateway, "cannot reload the certificate", number)
        scene.expect(await visitors.visit() == new, "a certificate that cannot be used has changed something")
    if coming.done():
        # A connection did not come about.
        coming.result()
    coming.cancel()
    return took, visitors.count


class Visitors:
    """New connections, all the time: each must come about, with a certificate that may be shown now."""

    def __init__(self, scene, gateway, known):
        self._scene, self._gateway, self.known, self.count = scene, gateway, known, 0

    async def come(self):
        while True:
            may_be = set(self.known)
            shown = await self.visit()
            self._scene.expect(shown in may_be | self.known, "a certificate was shown that should be gone")
            await asyncio.sleep(VISIT_PAUSE_SECONDS)

    async def more(self, count):
        """Until so many more have come."""
        enough = self.count + count
        await until_meanwhile(f"{count} more connections", lambda: self.count >= enough)

    async def visit(self):
        """The certificate that is shown."""
        host, port = self._gateway.http.rpartition("/")[2].split(":")
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, writer = await asyncio.open_connection(host, int(port), ssl=context())
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.transport.abort()
        self.count += 1
        return shown


class Certificate:
    """The files of the listener."""

    def __init__(self, directory):
        self.cert, self.key = directory / "cert.pem", directory / "key.pem"

    def renew(self):
        """Puts a new one there; what a client is then shown."""
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        command = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        subprocess.run([*command, "-keyout", self.key, "-out", self.cert], check=True, capture_output=True)
        return ssl.PEM_cert_to_DER_cert(self.cert.read_text())

    def spoil(self):
        Path(self.cert).write_text("-----BEGIN CERTIFICATE-----\n")


if __name__ == "__main__":
    main()
