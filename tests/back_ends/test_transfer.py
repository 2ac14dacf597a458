"""`heartline import` and `export`: nothing is lost or counted twice, whatever is killed, and bad lines are named."""

import json
import random
import signal
import subprocess
import time

from python.served import Scratch
from subscribers.authority import Authority
from wire.patience import PATIENCE_SECONDS, until
from wire.ports import quiet_port
from wire.tokens import token

BAD_DATA, AWAY, REFUSED, NO_ADDRESS, EXISTS = 65, 69, 77, 78, 73
STATES = ("playing", "paused", "seeked", "ended")
# Users, of which some are there for long enough to be seen before the others.
MANY = 8_000


def record(mid, oid, at, **fields):
    return {
        "mid": str(mid), "kind": 1, "oid": str(oid), "pos": 1_000 * oid, "dur": 9_000_000, "state": STATES[oid % 4],
        "session": str(mid * 1_000 + oid), "device": "tv" if oid % 2 else "phone", "watched": 60_000, "at": at, **fields,
    }


def by_content(lines):
    return {(line["mid"], line["kind"], line["oid"]): line for line in lines}


class Transfer(Scratch):
    def setUp(self):
        super().setUp()
        self.file, self.copy = self.scratch / "records.ndjson", self.scratch / "copy.ndjson"
        self.now = int(time.time() * 1_000)
        self.served = self.gateway(GRPC__LISTEN=f"127.0.0.1:{quiet_port(random.Random())}")

    def write(self, users, of_each):
        """Records of hours ago, in no order."""
        lines = [
            record(mid, oid, self.now - 3_600_000 - mid - oid) for mid in range(1, users + 1) for oid in range(1, of_each + 1)
        ]
        random.Random(7).shuffle(lines)
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return lines

    def begin(self, *words):
        return subprocess.Popen(
            [self.served.binary, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=self.served.environment(),
        )

    def end(self, process, code=0):
        said, complaint = process.communicate(timeout=2 * PATIENCE_SECONDS)
        self.assertEqual(process.returncode, code, complaint)
        return said, complaint

    def run_to(self, code, *words):
        return self.end(self.begin(*words), code)

    def beside(self, ending, file=None):
        file = file or self.file
        return file.with_name(file.name + ending)

    def exported(self):
        self.copy.unlink(missing_ok=True)
        self.run_to(0, "export", self.copy)
        return [json.loads(line) for line in self.copy.read_text().splitlines()]

    def test_what_was_imported_is_exported_and_a_repeat_changes_nothing(self):
        self.served.start()
        lines = self.write(users=300, of_each=5)
        said, _ = self.run_to(0, "import", self.file)
        self.assertIn("1500 records are there, 1500 of them new or changed; 0 refused", said)
        exported = self.exported()
        self.assertEqual((len(exported), by_content(exported)), (1_500, by_content(lines)))
        self.assertEqual([int(line["mid"]) for line in exported], sorted(int(line["mid"]) for line in exported))
        said, _ = self.run_to(0, "import", self.copy)
        self.assertIn("1500 records are there, 0 of them new or changed; 0 refused", said)
        _, complaint = self.run_to(EXISTS, "export", self.copy)
        self.assertIn("is there already", complaint)
        said, _ = self.run_to(0, "export", "-")
        self.assertEqual(said, self.copy.read_text())
        said, _ = self.run_to(0, "export", "--kind", "2")
        self.assertEqual(said, "")

    def test_a_line_without_a_session_is_one_beat_however_often_it_comes(self):
        self.served.start()
        line = {"mid": 7, "kind": 1, "oid": 8, "pos": 5_000, "at": self.now - 60_000}
        self.file.write_text(json.dumps(line) + "\n")
        self.run_to(0, "import", self.file)
        (first,) = self.exported()
        self.assertEqual((first["state"], first["watched"]), ("paused", 1))
        said, _ = self.run_to(0, "import", self.file)
        self.assertIn("0 of them new or changed", said)
        self.assertEqual(self.exported(), [first])

    def test_users_move_from_numbers_to_names(self):
        self.served.start()
        self.write(users=20, of_each=3)
        self.run_to(0, "import", self.file)
        names = {str(mid): f"auth0|{mid} \u00e5/%2F" for mid in range(1, 21)}
        lines = [{**line, "sub": names[line["mid"]]} for line in self.exported()]
        self.served.stop()

        address = f"127.0.0.1:{quiet_port(random.Random())}"
        named = self.gateway(data_dir=self.scratch / "named", GRPC__LISTEN=address, AUTH__SUBJECTS="any")
        self.served = named
        named.start()
        of_numbers = self.scratch / "numbers.ndjson"
        of_numbers.write_text(json.dumps(lines[0] | {"sub": None}) + "\n")
        said, _ = self.run_to(BAD_DATA, "import", of_numbers)
        self.assertIn("1 refused: mid: is not the number of a user", said)
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        said, _ = self.run_to(0, "import", self.file)
        self.assertIn("60 records are there, 60 of them new or changed; 0 refused", said)
        exported = self.exported()
        by_name = {(line["sub"], line["oid"]): {**line, "mid": ""} for line in exported}
        self.assertEqual(by_name, {(line["sub"], line["oid"]): {**line, "mid": ""} for line in lines})
        said, _ = self.run_to(0, "import", self.copy)
        self.assertIn("60 records are there, 0 of them new or changed; 0 refused", said)

    def test_bad_lines_are_named_and_the_others_imported(self):
        self.served.start()
        good = record(7, 1, self.now - 1_000)
        bad = {
            "{": "is not JSON (column 1)",
            json.dumps({**good, "position": 3}): "unknown field position; known: mid",
            json.dumps({**good, "at": self.now // 1_000}): "is in seconds, and must be in milliseconds",
            json.dumps({**good, "at": self.now + 3_600_000}): "clock",
            json.dumps({**good, "at": 1}): "expired",
            json.dumps({**good, "pos": 2**53}): "pos: must be at most 9007199254740991",
            json.dumps({**good, "mid": "8", "device": "x" * 65}): "device: must be at most 64 bytes long",
        }
        self.file.write_text("\n".join([*bad, "", json.dumps({**good, "kind": "1"})]))
        said, complaint = self.run_to(BAD_DATA, "import", self.file)
        self.assertIn(f"1 records are there, 1 of them new or changed; {len(bad)} refused", said)
        refused = [json.loads(line) for line in self.beside(".refused").read_text().splitlines()]
        self.assertEqual([(line["line"], line["text"]) for line in refused], list(enumerate(bad, 1)))
        for line in refused:
            self.assertIn(bad[line["text"]], line["reason"])
        self.assertEqual(self.exported(), [good])

    def test_what_was_killed_goes_on(self):
        self.served.start()
        lines = self.write(users=MANY, of_each=5)
        killed = self.begin("import", self.file)
        until("some of it is imported", self.beside(".import").exists)
        killed.kill()
        self.end(killed, -signal.SIGKILL)
        said, complaint = self.run_to(0, "import", self.file)
        self.assertIn("resuming after line", complaint)
        self.assertIn(f"{5 * MANY} lines in", said)
        self.assertFalse(self.beside(".import").exists())
        killed = self.begin("export", self.copy)
        until("some of it is exported", self.beside(".part.export", self.copy).exists)
        killed.kill()
        self.end(killed, -signal.SIGKILL)
        self.assertFalse(self.copy.exists())
        _, complaint = self.run_to(0, "export", self.copy)
        self.assertIn("resuming after", complaint)
        exported = [json.loads(line) for line in self.copy.read_text().splitlines()]
        self.assertEqual((len(exported), by_content(exported)), (len(lines), by_content(lines)))

    def test_another_file_is_not_taken_for_the_one_that_was_begun(self):
        self.served.start()
        self.write(users=MANY, of_each=5)
        killed = self.begin("import", self.file)
        until("some of it is imported", self.beside(".import").exists)
        killed.kill()
        self.end(killed, -signal.SIGKILL)
        self.file.write_text(json.dumps(record(7, 1, self.now)) + "\n")
        _, complaint = self.run_to(BAD_DATA, "import", self.file)
        self.assertIn("how far another file was read", complaint)

    def test_it_waits_for_a_gateway_that_is_killed(self):
        self.served.start()
        lines = self.write(users=MANY, of_each=5)
        importing = self.begin("import", self.file)
        until("some of it is imported", self.beside(".import").exists)
        self.served.kill()
        time.sleep(1)
        self.served.start()
        self.end(importing)
        exported = self.exported()
        self.assertEqual((len(exported), by_content(exported)), (len(lines), by_content(lines)))

    def test_a_listener_with_tls_is_checked_by_its_authority(self):
        authority = Authority(self.scratch / "authority")
        certificate, key = authority.certify("IP:127.0.0.1")
        self.served.settings.update(GRPC__TLS_CERT=certificate, GRPC__TLS_KEY=key)
        self.served.start()
        lines = self.write(users=3, of_each=2)
        _, complaint = self.run_to(AWAY, "import", self.file)
        self.assertIn("certificate", complaint)
        self.run_to(0, "import", self.file, "--ca", authority.certificate)
        said, _ = self.run_to(0, "export", "--ca", authority.certificate)
        self.assertEqual(by_content(json.loads(line) for line in said.splitlines()), by_content(lines))

    def test_errors_say_what_to_do(self):
        self.write(users=1, of_each=1)
        _, complaint = self.run_to(AWAY, "import", self.file)
        self.assertIn("does not answer", complaint)
        self.assertFalse(self.beside(".import").exists(), "nothing was imported")
        self.served.start()
        secret = self.scratch / "token"
        for scope, command in [("heartline.read", "import"), ("heartline.write", "export")]:
            secret.write_text(token("importer", scope=scope))
            _, complaint = self.run_to(REFUSED, command, self.file if command == "import" else self.copy, "--token-file", secret)
            self.assertIn("refuses the caller", complaint)
        _, complaint = self.run_to(66, "import", self.scratch / "no-such-file")
        self.assertIn("cannot be read", complaint)
        self.served.settings.pop("GRPC__LISTEN")
        _, complaint = self.run_to(NO_ADDRESS, "import", self.file)
        self.assertIn("grpc.listen", complaint)
        _, complaint = self.run_to(NO_ADDRESS, "import", self.file, "--grpc", "ftp://somewhere")
        self.assertIn("http:// or https://", complaint)
