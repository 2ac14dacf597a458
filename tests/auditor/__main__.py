"""`python -m auditor BINARY`: rounds of load, SIGKILL, restart and judgement. Exit code 1 if a promise broke."""

import asyncio
import sys
import time

from auditor.audit import Audit, arguments, scratch_directory
from auditor.event_log import EventLog, Tail
from auditor.progress import LOOK_EVERY_SECONDS
from auditor.readback import read_back
from auditor.rewards import held, outbox_entries, published
from auditor.rules import SETTINGS
from wire.gateway import Gateway
from wire.patience import PATIENCE_SECONDS, came

KILL_STARTING_CHANCE = 0.25
ROUNDS_IN_FLIGHT_MIN = 0.8
# A kill that finds every event published shows nothing of the outbox.
ROUNDS_UNPUBLISHED_MIN = 0.3
# So in every other round it comes early, while newcomers claim, and when some of it is unpublished.
EARLY_SHARE = 0.3
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
        began = time.monotonic()
        self._gateway.start()
        self._start_seconds = time.monotonic() - began

    def round(self, number):
        acks = self.some_acks(EARLY_SHARE if number % 2 else 1)
        seconds, figures = self._play(acks, self._gateway.kill, unpublished=number % 2)
        self._with_flight += figures.in_flight > 0
        twice = self.dice.random() < KILL_STARTING_CHANCE
        if twice:
            self._gateway.spawn()
            time.sleep(self.dice.random() * self._start_seconds)  # again a random moment, of the start this time
            self._gateway.kill()
        self.start()
        self._read_back(self.judge.lately())
        unpublished = published(self._gateway)
        self._with_unpublished += unpublished > 0
        print(
            f"round {number:3}: killed after {acks} acks in {seconds:4.2f} s{', again while starting' if twice else ''}: "
            f"{figures}, {self.judge.lost()} lost, {len(self.rewards.claims)} claims so far, {unpublished} events "
            f"unpublished, {len(self.faults)} faults",
            flush=True,
        )

    def drain(self):
        """SIGTERM under load: nothing is left for the next process to publish, and the log is what was tailed."""
        self.judge.goodbyes = True
        ended = []
        _, figures = self._play(self.some_acks(), lambda: ended.append(self._gateway.stop(PATIENCE_SECONDS)))
        self.expect(ended == [0], "drain", f"exit code {ended} after SIGTERM under load")
        self.start()
        self._read_back(self.judge.ledgers())
        late = published(self._gateway)
        self.expect(late == 0, "I6", f"{late} events were published after the drain, by the next process")
        self.log.replay(self._gateway)
        print(f"drained under load: {figures}, {len(self.faults)} faults", flush=True)

    def end(self, rounds):
        code = self._gateway.stop(PATIENCE_SECONDS)
        self.expect(code == 0, "drain", f"exit code {code} after SIGTERM")
        enough = self._with_flight >= ROUNDS_IN_FLIGHT_MIN * rounds
        self.expect(enough, "load", f"beats were in flight in only {self._with_flight} of {rounds} rounds")
        if self.args.hold:
            print(f"{self._held} beats were held", flush=True)
        enough = self._with_unpublished >= ROUNDS_UNPUBLISHED_MIN * rounds
        self.expect(enough, "load", f"events were unpublished in only {self._with_unpublished} of {rounds} rounds")

    def _play(self, acks, end, unpublished=False):
        """How long it took and the figures of what was played until the gateway was ended in this way."""
        tail = Tail(self.log, self._gateway)
        began = time.monotonic()
        for loader in self.loaders:
            loader.go(self._gateway.ws)
        self.play_on(acks, [self._gateway])
        if self.args.hold:
            self._wait_until_held()
        if unpublished:
            # Or until twice as many acks: users who have claimed everything claim no more.
            came(lambda: outbox_entries(self._gateway) or self.progress.acked() >= 2 * acks, every=LOOK_EVERY_SECONDS)
        seconds = time.monotonic() - began
        end()
        tail.end()
        self.wait_until_parked()
        return seconds, self.judge.read_journals()

    def _wait_until_held(self):
        enough = came(lambda: held(self._gateway) >= HELD_MIN, every=0.05)
        beats = held(self._gateway)
        self.expect(enough, "load", f"only {beats} beats were held")
        self._held += beats

    def _read_back(self, ledgers):
        asyncio.run(read_back([self._gateway.ws], ledgers, self.dice.random()))
        self.rewards.judge(self._gateway, self.judge.by_user(), ledgers)
        published_all = came(lambda: not outbox_entries(self._gateway), every=0.05)
        self.expect(published_all, "I6", f"{outbox_entries(self._gateway)} entries stay in the outbox")


if __name__ == "__main__":
    main()
