"""A gateway on a port of its own, the auditor's users on it, a crowd beside them, and what was found wrong."""

import argparse
import asyncio
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from websockets.exceptions import WebSocketException

from auditor.crew import Loader
from auditor.event_log import EventLog, Tail
from auditor.judge import Judge
from auditor.progress import Progress
from auditor.readback import read_back
from auditor.rewards import Rewards, published
from wire.loadgen import FIRST_MID, Loadgen, complaints, summary
from tiers.redis_server import Redis
from wire.dial import GoingAway
from wire.gateway import Gateway
from wire.patience import PATIENCE_SECONDS, NeverCame
from wire.ports import quiet_port

FAULTS_SHOWN_MAX = 20
STORE_FAILED = 74
LAST_LINE = "heartline: "
# The cause when tables could not be written beside the commits, and the next commit learns of it.
TABLES_UNWRITTEN = "tables cannot be written"
# From the first socket that is lost to the end of the process.
ENDS_AGAIN_SECONDS_MAX = PATIENCE_SECONDS
# From where a crowd is waited for until it has read back.
CROWD_SECONDS_MAX = 900
# From the first failure to the end.
END_SECONDS_MAX = PATIENCE_SECONDS
# Of a crowd that goes on as long as its scene does; what was unacked at the end may wait for a gateway that starts.
UNTIL_TOLD = ("--until-stdin-ends", "--drain", "300s")


def arguments(doc, **numbers):
    """The command line that all have, with further options that take a number."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--loadgen", type=Path, help="the load generator; without it, the one beside the binary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave journals, logs and data")
    for name, default in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    args.loadgen = args.loadgen or args.binary.parent / "loadgen"
    return args


class Scene:
    def __init__(self, args):
        self.args = args
        self.dice = random.Random(args.seed)
        self.scratch = Path(tempfile.mkdtemp(prefix="heartline-faults-"))
        self.faults = []
        self._ends = []  # of what was begun here, the last first
        self._gateways = []

    def __enter__(self):
        print(f"seed {self.args.seed}", flush=True)
        return self

    def __exit__(self, kind, error, _):
        if kind not in (None, SystemExit):
            self._explain()
        if kind is NeverCame:
            self.fault(error)
        for end in reversed(self._ends):
            end()
        if self.args.keep:
            print(f"kept {self.scratch}")
        else:
            shutil.rmtree(self.scratch)

    def _explain(self):
        """What an unexpected end may come from; the logs are about to go."""
        for gateway in self._gateways:
            code = gateway.process and gateway.process.poll()
            self.say(f"gateway {gateway.http}: exit code {code}; the end of its log:\n{gateway.stderr()[-2000:]}")

    def at_end(self, end):
        self._ends.append(end)

    def say(self, text):
        print(text, flush=True)

    def fault(self, text):
        self.faults.append(str(text))
        self.say(f"FAULT {text}")

    def expect(self, holds, text):
        if not holds:
            self.fault(text)

    def verdict(self):
        """The exit code."""
        if self.faults:
            self.say(f"{len(self.faults)} faults; repeat with --seed {self.args.seed}")
        return 1 if self.faults else 0

    def gateway(self, data_dir=None, before=(), **settings):
        """Not started yet. Its port stays the same, so that a crowd finds it again."""
        listen = f"127.0.0.1:{quiet_port(self.dice)}"
        log = self.scratch / "gateway.log"
        data_dir = data_dir or self.scratch / "data"
        gateway = Gateway(self.args.binary, data_dir, log, before, SERVER__LISTEN=listen, **settings)
        gateway.http = f"http://{listen}"
        self.at_end(gateway.kill)
        self._gateways.append(gateway)
        return gateway

    def gateway_on(self, redis_kind):
        """The Redis of a store of its own, and a gateway on it that serves."""
        redis = Redis(redis_kind, self.scratch / "redis")
        self.at_end(redis.stop)
        gateway = self.gateway(STORE__HOT_STORE="redis", REDIS__URL=redis.start().url)
        gateway.run("init")
        return redis, gateway.start()

    def crowd(self, gateway, *options):
        """Beats until its time is over, or until it is judged, and then reads back."""
        crowd = Loadgen(self.args.loadgen, [gateway.ws], self.scratch, "--verify", "--warm-up", "0s", *options)
        self.at_end(crowd.kill)
        crowd.wait_for_acks()
        return crowd

    def judge_crowd(self, crowd):
        code, report = crowd.end(CROWD_SECONDS_MAX)
        self.say(summary(report))
        for complaint in complaints(code, report):
            self.fault(complaint)
        return report

    def witnesses(self, users, newcomers=0):
        witnesses = Witnesses(self, users, newcomers)
        self.at_end(witnesses.stop)
        return witnesses

    def ended_by_itself(self, gateway, *causes, seconds=END_SECONDS_MAX):
        """Waits for the end of a gateway whose store fails: it says so once, says why, and ends with its code."""
        try:
            code = gateway.wait(seconds)
            self.expect(code == STORE_FAILED, f"exit code {code} after the store has failed")
        except subprocess.TimeoutExpired:
            self.fault(f"it does not end within {seconds} s")
        self.told_once(gateway.stderr(), "hot store failed", causes)

    def told_once(self, stderr, what, causes):
        """The log has one line for the operator: what has failed, and one of these causes."""
        # The last line of the log says it, too, and a start on a full disk before it fails.
        others = [f'event="{event}"' for event in ("starting", "disk_full", "stopped")]
        lines = [line for line in stderr.splitlines() if not any(other in line for other in others)]
        said = [line for line in lines if line.startswith(LAST_LINE) or what in line]
        says_all = len(said) == 1 and what in said[0] and any(cause in said[0] for cause in causes)
        self.expect(says_all, f"not one line that says {what}, and one of {causes}: {stderr}")
        self.expect("panicked" not in stderr, f"a panic: {stderr}")


class Witnesses:
    """Users of the auditor: what they were told is judged whenever they are called together."""

    def __init__(self, scene, users, newcomers):
        self._scene = scene
        journal = scene.scratch / "journal"
        self._loader = Loader(1, users, scene.args.seed, journal, "--crowded", "--newcomers", str(newcomers))
        self._judge = Judge([journal], goodbyes=True)
        self.progress = Progress([journal])
        self.log = EventLog(self._judge.faults)
        self.rewards = Rewards(self.log, self._judge.faults, others=FIRST_MID)
        self._loader.wait_until_parked()
        self.in_flight = 0  # how many users waited for an ack when the gateway ended

    def play(self, gateway):
        self._loader.go(gateway.ws)

    def park(self):
        """After the end of the gateway: all clients note it and wait."""
        self._loader.wait_until_parked()

    def testify(self, gateway, users=None):
        """After it was started again: reads back all, or so many of them. Returns what the round was like."""
        figures = self._judge.read_journals()
        self.in_flight += figures.in_flight > 0
        known = len(self._judge.faults)
        ledgers, dice = self._judge.ledgers(), self._scene.dice
        chosen = dice.sample(ledgers, min(users or len(ledgers), len(ledgers)))
        try:
            asyncio.run(read_back([gateway.ws], chosen, dice.random()))
        except (OSError, WebSocketException, GoingAway, RuntimeError):
            # It may have ended again meanwhile; then this is for the next round.
            if not gateway.ends_within(ENDS_AGAIN_SECONDS_MAX):
                raise
        self._tell_faults(known)
        return figures

    def testify_rewards(self, gateway):
        """After they have testified, of a gateway with the auditor's rules."""
        known = len(self._judge.faults)
        self.rewards.judge(gateway, self._judge.by_user(), self._judge.lately())
        self._tell_faults(known)

    def replay(self, gateway):
        """After a drain: nothing was left to publish, and the log is what it was."""
        known = len(self._judge.faults)
        self.log.replay(gateway)
        self._tell_faults(known)
        late = published(gateway)
        self._scene.expect(late == 0, f"I6: {late} events were published after the drain, by the next process")

    def tail(self, gateway):
        return Tail(self.log, gateway)

    def _tell_faults(self, known):
        for promise, text in self._judge.faults[known:][:FAULTS_SHOWN_MAX]:
            self._scene.fault(f"{promise}: {text}")

    def totals(self):
        return f"auditor: {self._judge.totals()}, {self._judge.lost()} lost, {len(self._judge.faults)} faults"

    def stop(self):
        self._loader.stop()
