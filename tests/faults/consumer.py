"""`python -m faults.consumer BINARY`: the consumer of docs/, while it and the gateway are killed again and again.

Whatever happens, it credits each claim once; and when the log is replayed from its start, by it or by a consumer that
knows nothing, the points are the same.
"""

import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from auditor.rules import CONTENT_RULE, SETTINGS, USER_RULE
from faults.scene import Scene, arguments
from wire.patience import PATIENCE_SECONDS, came
from wire.ports import quiet_port
from wire.tokens import CONTROL_TOKEN

CONSUMER = Path(__file__).parents[2] / "docs" / "consumer.py"
POINTS = {USER_RULE: 10, CONTENT_RULE: 2}  # as the consumer has them
# What comes before a kill: frames of beats that are acked, for each user, and claims that are credited.
ACKS_A_USER = (0.5, 8)
CREDITS = (1, 100)
# And then so long, so that a kill does not always meet the same moment.
MOMENT_SECONDS = 0.02


def main():
    args = arguments(__doc__, rounds=8, users=20)
    with Scene(args) as scene:
        kill_both(scene)
        sys.exit(scene.verdict())


def kill_both(scene):
    control = f"127.0.0.1:{quiet_port(scene.dice)}"
    gateway = scene.gateway(CONTROL__LISTEN=control, **SETTINGS).start()
    witnesses = scene.witnesses(scene.args.users, newcomers=scene.args.users)
    consumer = Consumer(scene, f"http://{control}")
    scene.at_end(consumer.kill)
    for number in range(1, scene.args.rounds + 1):
        play_and_kill(scene, gateway, witnesses, consumer)
        witnesses.park()
        gateway.start()
        figures = witnesses.testify(gateway)
        witnesses.testify_rewards(gateway)
        claims, credited = len(witnesses.rewards.claims), len(consumer.credited())
        scene.say(f"round {number}: {figures}; {credited} of {claims} claims credited, {len(scene.faults)} faults")
        if scene.faults:
            return
    consumer.start()
    consumer.wait_for(len(witnesses.rewards.claims))
    consumer.kill()
    judge(scene, consumer, witnesses.rewards)
    scene.expect(gateway.stop(PATIENCE_SECONDS) == 0, "an exit code other than 0 after SIGTERM")


def play_and_kill(scene, gateway, witnesses, consumer):
    """Both are killed, either of them first, when beats were acked and claims credited."""
    credits = len(consumer.credited()) + scene.dice.randint(*CREDITS)
    acks = 1 + int(scene.dice.uniform(*ACKS_A_USER) * 2 * scene.args.users)
    witnesses.progress.begin()
    witnesses.play(gateway)
    consumer.start()
    reached = witnesses.progress.reaches(acks, lambda: gateway.process.poll() is None)
    scene.expect(reached, f"only {witnesses.progress.acked()} of {acks} acks come")
    credited = came(lambda: len(consumer.credited()) >= credits)
    scene.expect(credited, f"only {len(consumer.credited())} of {credits} claims are credited")
    for end in scene.dice.sample((consumer.kill, gateway.kill), 2):
        time.sleep(scene.dice.uniform(0, MOMENT_SECONDS))
        end()


def judge(scene, consumer, rewards):
    claims = rewards.claims
    ids = consumer.credited()
    scene.expect(ids == set(claims), f"credited but not claimed: {ids - set(claims)}, and {set(claims) - ids} were not")
    points = consumer.once()
    expected = Counter()
    for event in claims.values():
        expected[event["data"]["mid"]] += POINTS[event["data"]["rule"]]
    scene.expect(points == expected, f"points {points}, expected {expected}")
    scene.expect(consumer.once("--replay") == points, "a replay changes points")
    consumer.forget_everything()
    scene.expect(consumer.once() == points, "a consumer that begins with the log's start has other points")
    scene.say(f"{len(ids)} claims of {len(points)} users credited once, also when replayed; {rewards.repeated} events came twice")


class Consumer:
    """One process at a time on one database of its own."""

    def __init__(self, scene, url):
        token_file = scene.scratch / "control-token"
        token_file.write_text(f"{CONTROL_TOKEN}\n")
        self._database = scene.scratch / "points.db"
        self._log = scene.scratch / "consumer.log"
        self._command = [sys.executable, CONSUMER, "--url", url, "--token-file", token_file, "--database", self._database]
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self):
        if self._process:
            self._process.kill()
            self._process.wait()

    def once(self, *options):
        """Runs it until it has read all there is; the points by user, as it prints them."""
        command = [*self._command, "--once", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"the consumer ended with {done.returncode}: {done.stderr}")
        lines = done.stdout.partition("points:\n")[2].splitlines()
        pairs = (line.removeprefix("  user ").split(": ") for line in lines)
        return {mid: int(points) for mid, points in pairs}

    def credited(self):
        if not self._database.exists():
            return set()
        with closing(sqlite3.connect(self._database, timeout=PATIENCE_SECONDS)) as database:
            # It may have been killed before it made its table.
            made = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'credit'").fetchone()
            return {id for (id,) in database.execute("SELECT id FROM credit")} if made else set()

    def wait_for(self, count):
        came(lambda: len(self.credited()) >= count, every=0.1)

    def forget_everything(self):
        for file in self._database.parent.glob(f"{self._database.name}*"):
            file.unlink()


if __name__ == "__main__":
    main()
