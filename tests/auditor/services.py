"""`python -m auditor.services BINARY`: two gateways without a store, whose users two history services commit for, on one
Redis and one Kafka. In each round a random one of all six is killed, and in those of `--frozen` one is stopped for a while that is no
gateway.

It is judged as with `auditor.fleet`. While one service is away, the other one serves its users, too. At the end services
drain, come and go under load. `--sockets`: beside the auditor's users, a crowd of so many, each with a socket.
"""

import asyncio

from auditor.audit import arguments
from auditor.crowd import Crowd
from auditor.fleet import AWAY_SHARE, PLAY_ON_SHARE, SeveralGateways
from auditor.journal import wall_ms
from auditor.pushes import beats_until_pushed
from auditor.rules import USER_RULE
from tiers.freezes import add_frozen_options
from tiers.redis_server import SINGLE
from tiers.service_fleet import ServiceFleet
from wire.loadgen import FIRST_MID
from wire.metrics import metric
from wire.patience import came

PUSHED_MID = FIRST_MID - 1
CROWD_BEATS_A_SECOND = 2_000
THIRD = "the third service"
COMMITTED = 'heartline_grpc_calls_total{method="gateway_commit",status="ok"}'
AWAY = 'event="history_service_away"'
# Calls of gateways to a service that has just come: then it is no chance that it is used.
CALLS_MIN = 20


def main():
    parser = arguments(__doc__, rounds=6, users=60, newcomers=24)
    parser.add_argument("--hold", type=int, default=0, help="milliseconds that steady beats wait for later ones")
    parser.add_argument("--sockets", type=int, default=0, help="of the crowd")
    parser.add_argument("--rate", type=int, default=CROWD_BEATS_A_SECOND, help="beats a second of the crowd")
    add_frozen_options(parser)
    SeveralServices.on_a_fleet(parser.parse_args(), SINGLE)


class SeveralServices(SeveralGateways):
    fleet_kind = ServiceFleet
    others = PUSHED_MID
    _crowd = None

    def start(self):
        super().start()
        if self.args.sockets:
            self._crowd = Crowd(self.args.binary, self.args.sockets, self.args.rate, self.fleet.urls, self.scratch)

    def close(self):
        if self._crowd:
            self._crowd.kill()

    def victims(self):
        return {**super().victims(), **{f"service {n}": service for n, service in enumerate(self.fleet.services)}}

    def round(self, number):
        if self._crowd:
            self._crowd.wait_until_back(self.fleet.gateways)
        super().round(number)
        self._expect_pushes()

    def stay_away(self, name, victim):
        super().stay_away(name, victim)
        if victim in self.fleet.services:
            self._all_go_on(name)

    def stay_frozen(self, name):
        super().stay_frozen(name)
        if name.startswith("service"):
            self._all_go_on(name)

    def _all_go_on(self, without):
        """Users whose service is away, too: half of those that wait now are."""
        answered = self.progress.all_answered()
        self.expect(answered, "I7", f"some beats are not acked without {without}")

    def _expect_pushes(self):
        gateways = self.fleet.gateways
        here, there = self.dice.sample(gateways, len(gateways))
        beats = asyncio.run(beats_until_pushed(here, there, PUSHED_MID))
        self.expect(beats, "pushes", "no beat of one gateway is pushed to the other one")

    def judge_rewards(self, ledgers):
        # The crowd claims all the time, so that the outbox is never empty for long.
        if not self._crowd:
            super().judge_rewards(ledgers)

    def drain(self):
        self.judge.goodbyes = True
        if self._crowd:
            self._judge_crowd()
        self.drain_one("gateway 0")
        self.drain_one("service 0")
        self._come_and_go()
        self.stop_all()

    def _judge_crowd(self):
        crowd, self._crowd = self._crowd, None
        said, faults = crowd.judge(sum(self.killed[f"gateway {n}"] for n in range(len(self.fleet.gateways))))
        self.faults += faults
        self.judge_rewards(self.judge.ledgers())
        users = self.rewards.claims_of(USER_RULE, FIRST_MID)
        self.expect(users == crowd.sockets, "I5", f"{users} of {crowd.sockets} users of the crowd were rewarded")
        print(f"{said}; {users} users rewarded", flush=True)

    def _expect_missed(self, service):
        """A service that is not there is told of, and stops nobody."""
        told = [self._misses(gateway, service) for gateway in self.fleet.gateways]
        self.expect(all(told), "log", f"whether gateways tell that {service.address} is away: {told}")

    @staticmethod
    def _misses(gateway, service):
        lines = gateway.stderr().splitlines()
        return any(AWAY in line and f"service={service.address} " in line for line in lines)

    def _come_and_go(self):
        """A third service is started under load, has its part of the users, and drains under load."""
        fleet = self.fleet
        self.play()
        self.play_on(self.some_acks(AWAY_SHARE), fleet.gateways)
        self._expect_missed(fleet.spare)
        fleet.grow()
        enough = came(lambda: metric(fleet.spare, COMMITTED) >= CALLS_MIN)
        calls = metric(fleet.spare, COMMITTED)
        self.expect(enough, "load", f"only {calls:.0f} calls come to {THIRD}")
        self.play_on(self.some_acks(PLAY_ON_SHARE), fleet.processes)
        calls = metric(fleet.spare, COMMITTED)
        fleet.services.remove(fleet.spare)
        self.stop(fleet.spare)
        # And no gateway uses it any more.
        fleet.wait_until_ready()
        self.play_on(self.some_acks(AWAY_SHARE), fleet.processes, "I7", without=THIRD)
        self._all_go_on(THIRD)
        figures = self.park(wall_ms())
        self.read_back(self.judge.ledgers())
        self.judge_rewards(self.judge.ledgers())
        print(f"{THIRD} had {calls:.0f} calls, and is gone: {figures}, {len(self.faults)} faults", flush=True)


if __name__ == "__main__":
    main()
