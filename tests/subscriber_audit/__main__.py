"""`python -m subscriber_audit BINARY [--store embedded|redis]`: subscribers, while what serves them is killed under load.

Users earn rewards, one event for each of the owners in turn. In each round a process is killed with SIGKILL and started
again. One owner follows positions and deletions. In the end each owner has got each of its events at least once, in the order of each user up to repeats, and nothing
else, each signed with a secret that its owner knows; and no try has begun after an owner's DELETE was answered. Exit code 1
if a promise broke.
"""

import random
import time

from subscriber_audit.comings import Comings
from subscriber_audit.judge import judge, path_of, received
from subscriber_audit.positions import Positions
from subscriber_audit.signatures import Signatures
from subscriber_audit.sites import SITES
from subscriber_audit.viewers import Viewers, contents_of
from subscribers.receiver import Receiver
from tiers.blows import Blows
from tiers.freezes import add_frozen_options
from tiers.kill_audit import kill_audit_parser, run_kill_audit
from wire.http import control
from wire.patience import all_come, came, until

VIEWERS = 3
# Between two requests of a viewer: what is killed for long is away while events go on to come, and all are delivered.
PAUSE_SECONDS = 0.2
# One receiver fails for some time, now and then: by the number of the owner.
BROKEN = 3
DELIVERIES_A_ROUND = 400


def main():
    parser = kill_audit_parser("subscriber_audit", __doc__, rounds=5, sites=SITES)
    add_frozen_options(parser)
    parser.add_argument("--owners", type=int, default=100)
    args = parser.parse_args()
    run_kill_audit(args, SITES[args.store], lambda _, site: SubscriberAudit(args, site).run())


class SubscriberAudit:
    def __init__(self, args, site):
        print(f"seed {args.seed}, {args.owners} owners on {args.store}, {args.rounds} rounds", flush=True)
        self._args, self._site, self._dice = args, site, random.Random(args.seed)
        self._receiver, self._faults, self._expected = Receiver(), [], []
        self._signatures = Signatures(site, self._receiver)
        self._positions = Positions(site, self._receiver, args.owners)

    def run(self):
        """What broke."""
        self._site.start()
        for owner in range(self._args.owners):
            self._make(owner)
        self._positions.start()
        blows = Blows(self._args, self._dice, self._site)
        comings = Comings(self._site, self._receiver, 0)
        comings.start()
        with self._signatures:
            for number in blows.rounds:
                if not self._faults:
                    self._round(number, blows)
            comings.end()
            if not self._faults:
                self._judge(comings)
        print(f"{blows}; owners that came and went: {len(comings.gone)}")
        return self._faults

    def _make(self, owner):
        body = {
            "url": self._receiver.url(path_of(owner)), "types": ["dev.heartline.reward.v1"],
            "filter": {"contents": [f"1:{content}" for content in contents_of(owner, self._args.owners)]},
            "secret": self._signatures.make(owner),
        }
        # A topic that was just made has no leader yet.
        until(f"owner {owner} is made", lambda: self._put(owner, body) in (200, 201))

    def _put(self, owner, body):
        return control(self._site.gateways[0], "PUT", f"/v1/subscribers/owner-{owner}", body).status

    def _round(self, number, blows):
        viewers = [Viewers(10 * number + n, self._site, self._args.owners, PAUSE_SECONDS) for n in range(VIEWERS)]
        for viewer in viewers:
            viewer.start()
        self._go_on()
        self._receiver.behave(path_of(BROKEN), status=500)
        self._signatures.rotate(number % self._args.owners)
        blow = blows.strike(number)
        recovered = self._site.wait_until_ready()
        self._go_on()
        self._receiver.behave(path_of(BROKEN))
        for viewer in viewers:
            viewer.end()
            self._expected += viewer.expected
            self._positions.add(viewer)
            if viewer.failure:
                self._faults.append(("load", repr(viewer.failure)))
        self._faults += self._signatures.check()
        print(
            f"round {number:3}: {blow}, all ready {recovered:.2f} s later: "
            f"{len(self._expected)} events, {self._receiver.count()} requests, {len(self._faults)} faults",
            flush=True,
        )

    def _go_on(self):
        """Until so many requests more have come."""
        enough = self._receiver.count() + DELIVERIES_A_ROUND
        if not came(lambda: self._receiver.count() >= enough):
            self._faults.append(("load", f"only {self._receiver.count()} of {enough} requests have come"))

    def _judge(self, comings):
        began = time.monotonic()
        wanted = {owner: {event for of, event, _ in self._expected if of == owner} for owner in range(self._args.owners)}
        all_come(lambda: sum(len(wanted[owner] - set(received(self._receiver, owner))) for owner in wanted))
        positions = self._positions.faults()
        self._faults += self._signatures.check() + comings.faults()
        self._faults += judge(lambda owner: received(self._receiver, owner), self._args.owners, self._expected)
        self._faults += positions
        if not comings.gone:
            self._faults.append(("load", "no owner came and went"))
        requests = sum(len(self._receiver.requests(path_of(owner))) for owner in wanted)
        print(f"judged {len(self._expected)} events in {requests} requests after {time.monotonic() - began:.2f} s", flush=True)


if __name__ == "__main__":
    main()
