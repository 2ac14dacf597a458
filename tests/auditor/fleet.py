"""`python -m auditor.fleet BINARY`: two gateways on one Redis and one Kafka, a random one of which is killed in each round.

In those of `--frozen` Redis or Kafka is stopped for a while instead.

Users spread their connections over both gateways. What was acked is read back by either, and the topic is read from
its start and compared with what users must have and were told. Exit code 1 if a promise broke.
"""

import asyncio
import subprocess
import sys
import time

from auditor.audit import Audit, arguments, scratch_directory
from auditor.journal import wall_ms
from auditor.readback import read_back
from auditor.rewards import held, outbox_entries
from auditor.rules import SETTINGS
from auditor.topic import Topic
from tiers.fleet import Fleet
from tiers.freezes import Freezes, add_frozen_options
from tiers.redis_server import CLUSTER, SINGLE
from wire.patience import PATIENCE_SECONDS, came

# How long Redis is away: without it there are no acks to count.
AWAY_SECONDS = (0.0, 0.5)
# Of the acks before a kill: those that come while something is away, and when all are ready again.
AWAY_SHARE = 0.2
PLAY_ON_SHARE = 0.4
KILL_STARTING_CHANCE = 0.25
ROUNDS_IN_FLIGHT_MIN = 0.6
# By the gateways together, since each was started: seen before at least one kill of a run with --hold.
HELD_MIN = 100
# Between two looks at rewards: another gateway takes up what a killed one has left only after a while.
ROUNDS_OF_REWARDS = 10


def main():
    parser = arguments(__doc__, rounds=30, users=50, newcomers=20)
    parser.add_argument("--redis", choices=(SINGLE, CLUSTER), default=SINGLE)
    parser.add_argument("--hold", type=int, default=0, help="milliseconds that steady beats wait for later ones")
    add_frozen_options(parser)
    args = parser.parse_args()
    SeveralGateways.on_a_fleet(args, args.redis)


class FleetAudit(Audit):
    """The users that play on a fleet, and the judge of what they see when parked."""

    fleet_kind = Fleet
    others = None  # as of `Rewards`

    @classmethod
    def on_a_fleet(cls, args, redis_kind):
        """Does it with a fleet of its own, and ends the process with the verdict."""
        with scratch_directory(args) as scratch:
            hold = getattr(args, "hold", 0)
            fleet = cls.fleet_kind(args.binary, scratch, redis_kind, **SETTINGS, STORE__STEADY_HOLD=f"{hold}ms")
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
        self.scratch, self.fleet = scratch, fleet
        super().__init__(args, scratch, self._topic, lambda _: any(self._unpublished()), self.others)

    def _topic(self, faults):
        return Topic(faults, self.fleet.kafka)

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
        published_all = came(lambda: not any(self._unpublished()), every=0.1)
        text = f"entries stay in the outbox: {self._unpublished()} (in Redis, and as each says)"
        self.expect(published_all, "I6", text)

    def _unpublished(self):
        """By redis-cli, and by the metric of each that publishes."""
        return [self.fleet.redis.outbox_entries(), *map(outbox_entries, self.fleet.committers)]


class SeveralGateways(FleetAudit):
    def __init__(self, args, scratch, fleet):
        super().__init__(args, scratch, fleet)
        self._with_flight = self._with_unpublished = self._held = 0
        self._next_victims = []
        self._start_seconds = {}  # by victim: how long its last start took

    def start(self):
        super().start()
        self._victims = self.victims()
        self.killed = dict.fromkeys(self._victims, 0)
        self._freezes = Freezes(self.args, self.dice, self.fleet) if self.args.frozen else None

    def rounds(self):
        return self.args.rounds + self.args.frozen

    def victims(self):
        """By name; None: a random node of Redis."""
        gateways = {f"gateway {n}": gateway for n, gateway in enumerate(self.fleet.gateways)}
        return {**gateways, "Redis": None, "Kafka": self.fleet.kafka}

    def round(self, number):
        self.play()
        self.play_on(acks := self.some_acks(), self.fleet.gateways)
        self._held = max(self._held, sum(map(held, self.fleet.gateways)))
        began = wall_ms()
        blow = self._freeze() if number > self.args.rounds else self._kill_next()
        recovered = self.fleet.wait_until_ready()
        self.play_on(self.some_acks(PLAY_ON_SHARE), self.fleet.gateways)
        figures = self.park(began)
        self._with_flight += figures.in_flight > 0
        self.read_back(self.judge.lately())
        if number % min(ROUNDS_OF_REWARDS, max(1, self.rounds() // 2)) == 0:
            self.judge_rewards(self.judge.lately())
        print(
            f"round {number:3}: after {acks} acks {blow}, all ready {recovered:4.2f} s later: {figures}, "
            f"{self.judge.lost()} lost, {len(self.rewards.claims)} claims seen so far, {len(self.faults)} faults",
            flush=True,
        )

    def _kill_next(self):
        """Kills one and starts it again; a text that tells of it."""
        name = self._next_victim()
        victim = self._victims[name] or self.dice.choice(self.fleet.redis.nodes)
        self.killed[name] += 1
        killed = wall_ms()
        victim.kill()
        unpublished = self.fleet.redis.outbox_entries() if name != "Redis" else 0
        self._with_unpublished += unpublished > 0
        self.stay_away(name, victim)
        twice = self._start(victim)
        away = (wall_ms() - killed) / 1000
        again = ", again while starting" if twice else ""
        return f"{name} killed{again}, away for {away:4.2f} s, {unpublished} events unpublished"

    def _freeze(self):
        """The same for what is stopped."""
        return str(self._freezes.freeze_next(self.stay_frozen))

    def stay_frozen(self, name):
        """Without Kafka, beats are acked as ever, and without one of several services."""
        if name != "Redis":
            self.play_on(self.some_acks(AWAY_SHARE), self.fleet.gateways, "I7", without=name)

    def _next_victim(self):
        """All in a random order, and then again: each has its turn."""
        if not self._next_victims:
            self._next_victims = self.dice.sample(list(self._victims), len(self._victims))
        return self._next_victims.pop()

    def stay_away(self, name, victim):
        """While all but Redis is away, the other gateways ack what is sent."""
        if name == "Redis":
            time.sleep(self.dice.uniform(*AWAY_SECONDS))
        else:
            others = [gateway for gateway in self.fleet.gateways if gateway is not victim]
            self.play_on(self.some_acks(AWAY_SHARE), others, "I7", without=name)

    def _start(self, victim):
        """Whether it was killed once more, at a random moment of its start."""
        known, twice = self._start_seconds.get(victim), self.dice.random() < KILL_STARTING_CHANCE
        if twice and known:
            victim.spawn()
            time.sleep(self.dice.random() * known)
            victim.kill()
        began = time.monotonic()
        victim.start()
        self._start_seconds[victim] = time.monotonic() - began
        return twice and known

    def drain(self):
        """SIGTERM for one gateway under load, then for all: nothing is left to publish."""
        self.judge.goodbyes = True
        self.drain_one("gateway 0")
        self.stop_all()

    def drain_one(self, name):
        """SIGTERM for it under load: it loses nothing, and the others go on."""
        victim = self._victims[name]
        self.play()
        self.play_on(self.some_acks(), self.fleet.gateways)
        self.stop(victim)
        self.stay_away(name, victim)
        figures = self.park(wall_ms())
        # Another one publishes what it could not publish any more.
        victim.start()
        self.fleet.wait_until_ready()
        self.read_back(self.judge.ledgers())
        self.judge_rewards(self.judge.ledgers())
        print(f"{name} drained under load: {figures}, {len(self.faults)} faults", flush=True)

    def stop_all(self):
        for process in reversed(self.fleet.processes):
            self.stop(process)
        entries = self.fleet.redis.outbox_entries()
        self.expect(not entries, "I6", f"{entries} entries in the outbox when all have ended")
        self.log.replay()
        print(f"all have ended: {len(self.log.entries)} events in the topic, {len(self.faults)} faults", flush=True)

    def stop(self, process):
        """SIGTERM."""
        try:
            code = process.stop(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            code = f"none within {PATIENCE_SECONDS} s"
        self.expect(code == 0, "drain", f"{process.name}: exit code {code} after SIGTERM")

    def end(self, rounds):
        enough = self._with_flight >= ROUNDS_IN_FLIGHT_MIN * rounds
        self.expect(enough, "load", f"beats were in flight in only {self._with_flight} of {rounds} rounds")
        self.expect(self._with_unpublished or not self.args.rounds, "load", "no kill found an event unpublished")
        if self.args.hold:
            self.expect(self._held >= HELD_MIN, "load", f"only {self._held} beats were held")
            print(f"at least {self._held} beats were held", flush=True)
        stopped = f"stopped: {dict(self._freezes.count)}; " if self._freezes else ""
        flight, events = self._with_flight, self._with_unpublished
        print(f"killed: {self.killed}; {stopped}{flight} times with beats in flight, {events} with events")


if __name__ == "__main__":
    main()
