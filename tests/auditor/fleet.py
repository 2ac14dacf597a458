"""`python -m auditor.fleet BINARY`: two gateways on one Redis and one Kafka, a random one of which is killed in each round.

Users spread their connections over both gateways. What was acked is read back by either, and the topic is read from
its start and compared with what users must have and were told. Exit code 1 if a promise broke.
"""

import asyncio
import sys
import time

from auditor.audit import Audit, arguments, scratch_directory
from auditor.journal import wall_ms
from auditor.readback import read_back
from auditor.rewards import FOLLOW_SECONDS, TAKEOVER_SECONDS, outbox_entries
from auditor.rules import SETTINGS
from auditor.topic import Topic
from tiers.fleet import Fleet
from tiers.redis_server import CLUSTER, SINGLE

KILL_AFTER_SECONDS = (0.4, 2.0)
AWAY_SECONDS = (0.0, 0.5)
PLAY_ON_SECONDS = (0.3, 1.2)
KILL_STARTING_CHANCE = 0.25
STARTING_SECONDS = (0.0, 0.3)
ROUNDS_IN_FLIGHT_MIN = 0.6
# Between two looks at rewards: another gateway takes up what a killed one has left only after a while.
ROUNDS_OF_REWARDS = 10
OUTBOX_SECONDS_MAX = 40
# While Kafka is away for longer than this, acks come.
NOTICED_MS = 500


def main():
    parser = arguments(__doc__, rounds=30, users=100, newcomers=40)
    parser.add_argument("--redis", choices=(SINGLE, CLUSTER), default=SINGLE)
    args = parser.parse_args()
    SeveralGateways.on_a_fleet(args, args.redis)


class FleetAudit(Audit):
    """Who plays on a fleet, and what is judged when they are parked."""

    @classmethod
    def on_a_fleet(cls, args, redis_kind):
        """Does it with a fleet of its own, and ends the process with the verdict."""
        with scratch_directory(args) as scratch:
            fleet = Fleet(args.binary, scratch, redis_kind, **SETTINGS)
            audit = cls(args, scratch, fleet)
            try:
                ok = audit.run()
            finally:
                fleet.end()
                audit.close()
        sys.exit(0 if ok else 1)

    def close(self):
        """Ends what was started beside the fleet."""

    def __init__(self, args, scratch, fleet):
        follow_seconds = FOLLOW_SECONDS + TAKEOVER_SECONDS
        super().__init__(args, scratch, lambda faults: Topic(faults, fleet.kafka), follow_seconds)
        self.fleet = fleet

    def start(self):
        self.fleet.start()

    def play(self):
        for loader in self.loaders:
            loader.go(*self.fleet.urls)

    def park(self, killed=None):
        """The figures of what was played; beats in flight are those of the moment `killed`."""
        for loader in self.loaders:
            loader.park()
        self.wait_until_parked()
        return self.judge.read_journals(killed or wall_ms())

    def read_back(self, ledgers):
        asyncio.run(read_back(self.fleet.urls, ledgers, self.dice.random()))

    def judge_rewards(self, ledgers):
        """Every event has come, and the outbox is empty."""
        self.rewards.judge(self.fleet, self.judge.by_user(), ledgers)
        give_up = time.monotonic() + OUTBOX_SECONDS_MAX
        while any(entries := self._unpublished()) and time.monotonic() < give_up:
            time.sleep(0.1)
        self.expect(not any(entries), "I6", f"entries stay in the outbox: {entries} (in Redis, and as the gateways say)")

    def _unpublished(self):
        """By redis-cli, and by the metric of each gateway."""
        return [self.fleet.redis.outbox_entries(), *map(outbox_entries, self.fleet.gateways)]


class SeveralGateways(FleetAudit):
    def __init__(self, args, scratch, fleet):
        super().__init__(args, scratch, fleet)
        self._with_flight = self._with_unpublished = 0

    def start(self):
        super().start()
        victims = {f"gateway {n}": gateway for n, gateway in enumerate(self.fleet.gateways)}
        victims |= {"Redis": None, "Kafka": self.fleet.kafka}
        self._victims = victims
        self._killed = dict.fromkeys(victims, 0)

    def round(self, number):
        name = self.dice.choice(list(self._victims))
        victim = self._victims[name] or self.dice.choice(self.fleet.redis.nodes)
        self._killed[name] += 1
        self.play()
        time.sleep(self.dice.uniform(*KILL_AFTER_SECONDS))  # not a wait for anything: the random moment of the kill
        killed = wall_ms()
        victim.kill()
        unpublished = self.fleet.redis.outbox_entries() if name != "Redis" else 0
        self._with_unpublished += unpublished > 0
        time.sleep(self.dice.uniform(*AWAY_SECONDS))
        if self.dice.random() < KILL_STARTING_CHANCE:
            victim.spawn()
            time.sleep(self.dice.uniform(*STARTING_SECONDS))
            victim.kill()
        victim.start()
        back = wall_ms()
        recovered = self.fleet.wait_until_ready()
        time.sleep(self.dice.uniform(*PLAY_ON_SECONDS))
        figures = self.park(killed)
        self._with_flight += figures.in_flight > 0
        if name != "Redis" and back - killed > 2 * NOTICED_MS:
            acks = sum(killed + NOTICED_MS < ms < back for ms in self.judge.ack_times)
            self.expect(acks, "I7", f"no ack in {back - killed} ms without {name}")
        self.read_back(self.judge.lately())
        if number % min(ROUNDS_OF_REWARDS, max(1, self.args.rounds // 2)) == 0:
            self.judge_rewards(self.judge.lately())
        print(
            f"round {number:3}: {name} away for {(back - killed) / 1000:4.2f} s, all ready {recovered:4.2f} s later: "
            f"{figures}, {self.judge.lost()} lost, {unpublished} events unpublished, {len(self.rewards.claims)} claims "
            f"seen so far, {len(self.faults)} faults",
            flush=True,
        )

    def drain(self):
        """SIGTERM for one gateway under load, then for the other: nothing is left to publish."""
        self.judge.goodbyes = True
        self.play()
        time.sleep(self.dice.uniform(*KILL_AFTER_SECONDS))
        codes = [self.fleet.gateways[0].stop()]
        time.sleep(self.dice.uniform(*PLAY_ON_SECONDS))
        figures = self.park(wall_ms())
        # What the first could not publish any more, somebody takes up.
        self.fleet.gateways[0].start()
        self.fleet.wait_until_ready()
        self.read_back(self.judge.ledgers())
        self.judge_rewards(self.judge.ledgers())
        codes += [gateway.stop() for gateway in self.fleet.gateways]
        self.expect(codes == [0, 0, 0], "drain", f"exit codes {codes} after SIGTERM")
        entries = self.fleet.redis.outbox_entries()
        self.expect(not entries, "I6", f"{entries} entries in the outbox when all gateways have ended")
        self.log.replay()
        print(f"drained under load: {figures}, {len(self.log.entries)} events in the topic, {len(self.faults)} faults")

    def end(self, rounds):
        enough = self._with_flight >= ROUNDS_IN_FLIGHT_MIN * rounds
        self.expect(enough, "load", f"beats were in flight in only {self._with_flight} of {rounds} rounds")
        self.expect(self._with_unpublished, "load", "no kill found an event unpublished")
        print(f"killed: {self._killed}; {self._with_flight} times with beats in flight, {self._with_unpublished} with events")


if __name__ == "__main__":
    main()
