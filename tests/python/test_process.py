"""Starting, failing to start, stopping: exit codes, one clear line, no loss."""

import os
import socket
import subprocess

from python.served import BINARY, Scratch
from wire.client import Client, beat
from wire.dial import dial
from wire.gateway import StartFailed
from wire.patience import PATIENCE_SECONDS

USAGE, UNAVAILABLE, CANNOT_CREATE, CONFIG = 2, 69, 73, 78


class BadStarts(Scratch):
    def refused(self, code, *words, **settings):
        """The start ends with this code and, after its log, one line on stderr that has the words, in whatever case."""
        gateway = self.gateway(**settings)
        with self.assertRaises(StartFailed) as failed:
            gateway.start()
        *log, error = failed.exception.stderr.splitlines()
        self.assertEqual(failed.exception.code, code, error)
        self.assertTrue(error.startswith("heartline: "), error)
        for line in log:
            self.assertRegex(line, r" event=\"[a-z_]+\" ")
        for word in words:
            self.assertIn(word, error.lower())

    def test_a_bad_value(self):
        self.refused(CONFIG, "group_interval", STORE__GROUP_INTERVAL="soon")

    def test_an_unknown_key_in_the_environment(self):
        self.refused(CONFIG, "colour", SERVER__COLOUR="blue")

    def test_an_unknown_key_in_the_file(self):
        config = self.scratch / "heartline.toml"
        config.write_text('[server]\ncolour = "blue"\n')
        done = run("serve", "--config", config)
        self.assertEqual(done.returncode, CONFIG)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("colour", done.stderr)
        self.assertEqual(run("check-config", "--config", config).returncode, CONFIG)

    def test_a_file_that_is_not_there(self):
        done = run("serve", "--config", self.scratch / "nowhere.toml")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("nowhere.toml", done.stderr)

    def test_a_short_key(self):
        self.refused(CONFIG, "hs256_secret", AUTH__HS256_SECRET="short")

    def test_a_public_address_without_a_key(self):
        self.refused(CONFIG, "hs256_secret", AUTH__HS256_SECRET="", SERVER__LISTEN="0.0.0.0:0", DEMO__ENABLED="false")

    def test_the_demo_on_a_public_address(self):
        self.refused(CONFIG, "demo", SERVER__LISTEN="0.0.0.0:0")

    def test_a_taken_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused(UNAVAILABLE, str(port), SERVER__LISTEN=f"127.0.0.1:{port}")
            self.refused(UNAVAILABLE, str(port), ADMIN__LISTEN=f"127.0.0.1:{port}")

    def test_a_directory_that_cannot_be_written(self):
        # Below a file: modes would not keep out root.
        (self.scratch / "file").touch()
        self.refused(CANNOT_CREATE, "file/data", STORE__DATA_DIR=str(self.scratch / "file" / "data"))

    async def test_a_directory_that_another_process_has_open(self):
        first = self.gateway().start()
        async with await Client.open(first, 42) as client:
            await client.beats(beat(1, client.now()))
            self.refused(CANNOT_CREATE, str(first.process.pid))
            [record] = await client.get(1)
            self.assertEqual(record["pos"], 73_200)

    def test_a_wrong_command_line(self):
        self.assertEqual(run("dance").returncode, USAGE)


class Stops(Scratch):
    async def test_a_drain_acks_what_came_says_bye_and_loses_nothing(self):
        gateway = self.gateway().start()
        client = await Client.open(gateway, 42)
        sent = [await client.send(beats={"items": [beat(n, client.now() + n)]}) for n in range(20)]
        await client.get(0)  # everything before it has been received
        gateway.process.terminate()
        _, bye = await client.frame("bye")
        self.assertEqual(bye["reason"], "drain")
        self.assertTrue(200 <= bye["reconnect_after"] <= 10_000, bye)
        self.assertEqual(client.untaken("ack")[-1]["seq"], sent[-1])
        self.assertEqual(await client.closed(), 1012)
        self.assertEqual(gateway.wait(PATIENCE_SECONDS), 0)
        gateway.start()
        async with await Client.open(gateway, 42) as again:
            self.assertEqual(len(await again.list()), 20)

    async def test_the_key_of_the_development_is_made_once_and_is_private(self):
        gateway = self.gateway(AUTH__HS256_SECRET="")
        gateway.start()
        kept = self.scratch / "data" / "development-key"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        made = kept.read_text()
        printed = subprocess.run(
            [BINARY, "token", "--mid", "42"], env=gateway.environment(), capture_output=True, text=True, check=True
        )
        client = Client(*await dial(gateway.ws, printed.stdout.strip()))
        self.assertEqual(client.welcome["mid"], "42")
        await client.socket.close()
        gateway.stop(PATIENCE_SECONDS)
        gateway.start()
        self.assertEqual(kept.read_text(), made)

    def test_the_default_configuration_is_the_file(self):
        printed = run("default-config")
        self.assertEqual(printed.returncode, 0)
        config = self.scratch / "heartline.toml"
        config.write_text(printed.stdout)
        self.assertEqual(run("check-config", "--config", config).returncode, 0)


def run(*args):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HEARTLINE__")}
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, env=kept, timeout=PATIENCE_SECONDS)
