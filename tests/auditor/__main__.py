"""`python -m auditor BINARY`: rounds of load, SIGKILL, restart and judgement. Exit code 1 if a promise broke."""

import asyncio
import sys
import time

from auditor.audit import Audit, arguments, scratch_directory
from auditor.event_log import EventLog, Tail
from auditor.readback import read_back
from auditor.rewards import held, outbox_entries, published
from auditor.rules import SETTINGS
from wire.gateway import Gateway

KILL_AFTER_SECONDS = (0.4, 2.5)
KILL_STARTING_CHANCE = 0.25
ROUNDS_IN_FLIGHT_MIN = 0.8
# A kill that finds every event published shows nothing of the outbox.
ROUNDS_UNPUBLISHED_MIN = 0.3
OUTBOX_SECONDS_MAX = 20
# Of each round, with --hold.
HELD_MIN = 20


def main():
    parser = arguments(__doc__, rounds=20)
    parser.add_argument("--hold", type=int, default=0, help="milliseconds that steady beats wait for later ones")
    args = parser.parse_args()
    settings = {**SETTINGS, "STORE__STEADY_HOLD": f"{args.hold}ms"}
    with scratch_directory(args) as scratch:
        gateway = Gateway(args.binary, scratch / "data", scratch / "gateway.log", **settings)
        try:
            ok = OneGateway(args, scratch, gateway).run()
        finally:
            gateway.kill()
    sys.exit(0 if ok else 1)


class OneGateway(Audit):
    def __init__(self, args, scratch, gateway):
        super().__init__(args, scratch, EventLog)
        self._gateway = gateway
        self._with_flight = self._with_unpublished = self._held = 0

    def start(self):
        self._gateway.start()

    def round(self, number):
        alive = self.dice.uniform(*KILL_AFTER_SECONDS)
        figures = self._play(alive, self._gateway.kill)
        self._with_flight += figures.in_flight > 0
        twice = self.dice.random() < KILL_STARTING_CHANCE
        if twice:
            self._gateway.spawn()
            time.sleep(self.dice.uniform(0, 0.1))  # again a random moment, of the start this time
            self._gateway.kill()
        self._gateway.start()
        self._read_back(self.judge.lately())
        unpublished = published(self._gateway)
        self._with_unpublished += unpublished > 0
        print(
            f"round {number:3}: killed after {alive:4.2f} s{', again while starting' if twice else ''}: "
            f"{figures}, {self.judge.lost()} lost, {len(self.rewards.claims)} claims so far, {unpublished} events "
            f"unpublished, {len(self.faults)} faults",
            flush=True,
        )

    def drain(self):
        """SIGTERM under load: nothing is left for the next process to publish, and the log is what was tailed."""
        self.judge.goodbyes = True
        ended = []
        figures = self._play(self.dice.uniform(*KILL_AFTER_SECONDS), lambda: ended.append(self._gateway.stop()))
        self.expect(ended == [0], "drain", f"exit code {ended} after SIGTERM under load")
        self._gateway.start()
        self._read_back(self.judge.ledgers())
        late = published(self._gateway)
        self.expect(late == 0, "I6", f"{late} events were published after the drain, by the next process")
        self.log.replay(self._gateway)
        print(f"drained under load: {figures}, {len(self.faults)} faults", flush=True)

    def end(self, rounds):
        code = self._gateway.stop()
        self.expect(code == 0, "drain", f"exit code {code} after SIGTERM")
        enough = self._with_flight >= ROUNDS_IN_FLIGHT_MIN * rounds
        self.expect(enough, "load", f"beats were in flight in only {self._with_flight} of {rounds} rounds")
        if self.args.hold:
            print(f"{self._held} beats were held", flush=True)
            self.expect(self._held >= HELD_MIN * rounds, "load", f"only {self._held} beats were held")
        enough = self._with_unpublished >= ROUNDS_UNPUBLISHED_MIN * rounds
        self.expect(enough, "load", f"events were unpublished in only {self._with_unpublished} of {rounds} rounds")

    def _play(self, seconds, end):
        """The figures of what was played until the gateway was ended in this way."""
        tail = Tail(self.log, self._gateway)
        for loader in self.loaders:
            loader.go(self._gateway.ws)
        time.sleep(seconds)  # not a wait for anything: the random moment of the end
        self._held += held(self._gateway) if self.args.hold else 0
        end()
        tail.end()
        self.wait_until_parked()
        return self.judge.read_journals()

    def _read_back(self, ledgers):
        asyncio.run(read_back([self._gateway.ws], ledgers, self.dice.random()))
        self.rewards.judge(self._gateway, self.judge.by_user(), ledgers)
        give_up = time.monotonic() + OUTBOX_SECONDS_MAX
        while (entries := outbox_entries(self._gateway)) and time.monotonic() < give_up:
            time.sleep(0.05)
        self.expect(not entries, "I6", f"{entries} entries stay in the outbox")


if __name__ == "__main__":
    main()
