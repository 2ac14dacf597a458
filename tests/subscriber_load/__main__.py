"""`python -m subscriber_load BINARY [--store embedded|redis]`: nobody is slowed by a neighbour.

Owners whose events are a Zipf distribution, so that a fifth of all is the noisiest one's. In each round: the quiet ones
alone; the same beside the noisy one; the same while three more are ill: one hangs, one answers 500, one is slow. The events
of the quiet ones come as soon as before, and the cascade keeps up with the bus. In the end each owner has got each of its
events at least once, those of each user in their order, and nothing else. Exit code 1 if a promise broke.
"""

import time
from dataclasses import dataclass

from subscriber_audit.sites import SITES
from subscriber_load.beats import REQUESTS, Beats
from subscriber_load.bounds import beside, bounds, ratio
from subscriber_load.gauges import bus_lag
from subscriber_load.judge import judge
from subscriber_load.owners import BROKEN, HANGING, NOISY_SHARE, SLOW, Owners
from subscriber_load.phase import Phase
from subscriber_load.receiver import Receiver
from tiers.kill_audit import kill_audit_parser, run_kill_audit
from wire.patience import until


@dataclass(frozen=True)
class Load:
    items: int  # of a request
    rate: int  # items a second at most
    warm_up: int  # events, twice: what is new to a process is slow once


LOADS = {
    "embedded": Load(items=16, rate=3_000, warm_up=12_000),
    # Events of a user go to Kafka one after the other, so that many in a request are a long way of their own.
    "redis": Load(items=5, rate=400, warm_up=3_000),
}
# Of what the machine carries with the load and the receiver beside what is measured.
RATE_SHARE = 0.4
ILL = {HANGING: {"hang": True}, BROKEN: {"status": 500}, SLOW: {"seconds": 0.5}}
# A load that takes so much longer than it should was not steady, and its ages say nothing.
LATE_MAX = 1.3


def main():
    parser = kill_audit_parser("subscriber_load", __doc__, rounds=3, sites=SITES)
    parser.add_argument("--owners", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rate", type=int, help="items a second, those of the noisy owner included")
    parser.add_argument("--node", default="node")
    args = parser.parse_args()
    run_kill_audit(args, SITES[args.store], lambda scratch, site: audit(args, scratch, site))


def audit(args, scratch, site):
    receiver = Receiver(args.node, scratch / "arrivals")
    try:
        return SubscriberLoad(args, site, receiver).run()
    finally:
        receiver.end()


class SubscriberLoad:
    def __init__(self, args, site, receiver):
        print(f"seed {args.seed}, {args.owners} owners on {args.store}, {args.events} events", flush=True)
        self._args, self._site, self._receiver = args, site, receiver
        self._owners, self._load, self._rate = Owners(args.owners), LOADS[args.store], args.rate
        self._beats = Beats(site, self._owners, self._load.items, args.seed)
        # In one of three phases the noisy owner is silent.
        self._users = self._users_for(args.events / args.rounds / (3 - NOISY_SHARE))
        self._earned, self._faults = [], []

    def run(self):
        """What broke."""
        self._site.start()
        began = time.monotonic()
        self._owners.make(self._site.gateways[0], self._receiver)
        print(f"made in {time.monotonic() - began:.1f} s", flush=True)
        self._warm_up()
        rounds = [self._round() for _ in range(self._args.rounds)]
        self._compare("with a noisy owner", [(quiet, noisy) for quiet, noisy, _ in rounds])
        self._compare("with three ill owners", [(noisy, ill) for _, noisy, ill in rounds])
        self._judge()
        return self._faults

    def _users_for(self, events):
        return max(1, round(events / self._load.items / REQUESTS))

    def _warm_up(self):
        """As fast as it goes, and then at a rate that a machine keeps that is somewhat busier."""
        for _ in range(2):
            phase = self._phase("warm-up", self._users_for(self._load.warm_up), float("inf"))
        until("the bus is read", lambda: bus_lag(self._site)[0] == 0)
        carried = len(phase.earned) / phase.until_all_came
        self._rate = self._args.rate or min(self._load.rate, round(RATE_SHARE * carried))
        print(f"the machine carries {carried:.0f} items/s; {self._rate} items/s", flush=True)

    def _round(self):
        quiet = self._phase("quiet", self._users, self._rate, is_noisy=False)
        noisy = self._phase("noisy", self._users, self._rate)
        for owner, behaviour in ILL.items():
            self._receiver.behave(owner, **behaviour)
        ill = self._phase("ill", self._users, self._rate, ill=ILL)
        for owner in ILL:
            self._receiver.behave(owner)
        if not self._receiver.wait_for({one.event for one in ill.earned}):
            self._faults.append(("lost", "events of owners that were ill do not come"))
        return quiet, noisy, ill

    def _phase(self, name, users, rate, is_noisy=True, ill=()):
        phase = Phase.run(self._site, self._beats, self._receiver, users, rate, is_noisy, ill)
        print(f"{name:7}: {phase}", flush=True)
        self._earned += phase.earned
        if not phase.all_came:
            self._faults.append(("lost", f"events of the phase {name} do not come"))
        due = users * REQUESTS * self._load.items / rate
        # At least a few requests of each sender, or nothing is to be said of the rate.
        if rate < float("inf") and phase.seconds > LATE_MAX * due + 1:
            self._faults.append(("load", f"{name}: the beats took {phase.seconds:.1f} s in place of {due:.1f} s"))
        return phase

    def _compare(self, when, rounds):
        for name, bound in bounds(self._rate).items():
            pairs = [(getattr(before, name), getattr(now, name)) for before, now in rounds]
            self._faults += [(promise, f"{when} {text}") for promise, text in beside(bound, pairs)]
            print(f"{when}: {bound.what} {ratio(pairs):.2f}×", flush=True)
        cost = ratio([(before.microseconds, now.microseconds) for before, now in rounds])
        print(f"{when}: processor time an event {cost:.2f}×", flush=True)

    def _judge(self):
        self._faults += judge(self._earned, self._receiver.arrivals, self._args.owners)
        repeats = len(self._receiver.arrivals) - len({(one.owner, one.event) for one in self._receiver.arrivals})
        print(f"judged {len(self._earned)} events, {repeats} repeats", flush=True)


if __name__ == "__main__":
    main()
