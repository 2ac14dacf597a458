"""`python -m faults.failover BINARY`: the master under Sentinel is killed, and its replica takes its place.

Beats are acked again while the old master is still away, by gateways that were left alone. What the old master
acknowledged and had not passed on is lost, as docs/tiers.md says: how much that was is told, and not judged.
"""

from auditor.audit import arguments
from auditor.fleet import FleetAudit
from auditor.journal import wall_ms
from tiers.redis_server import SENTINEL
from wire.metrics import wait_for_acks
from wire.patience import until

ACKS_BEFORE = 1_500
ACKS_WITHOUT = 1_500
ACKS_AFTER = 1_500
# What users may see of that.
LOST = {"I1", "I5", "forgetting", "recording", "flag"}


def main():
    args = arguments(__doc__, rounds=2, users=60, newcomers=30).parse_args()
    Failover.on_a_fleet(args, SENTINEL)


class Failover(FleetAudit):
    def round(self, number):
        # Without the data, the replica would be a wiped store for the gateways, which they refuse.
        until("the replica has all data", self.fleet.redis.replica_has_all)
        self.play()
        wait_for_acks(ACKS_BEFORE, *self.fleet.gateways)
        master, killed = self.fleet.redis.master(), wall_ms()
        master.kill()
        until("Sentinel names another master", lambda: self.fleet.redis.master() not in (master, None))
        named = wall_ms()
        wait_for_acks(ACKS_WITHOUT, *self.fleet.gateways)
        master.start()
        self.fleet.wait_until_ready()
        wait_for_acks(ACKS_AFTER, *self.fleet.gateways)
        figures = self.park(killed)
        alive = min((ms - killed for ms in self.judge.ack_times if ms > named), default=None)
        self.expect(alive is not None, "liveness", "no client got an ack after the failover")
        self.read_back(self.judge.ledgers())
        lost = [fault for fault in self.faults if fault[0] in LOST]
        self.faults[:] = [fault for fault in self.faults if fault not in lost]
        print(
            f"round {number}: another master after {(named - killed) / 1000:.2f} s, acks after {alive} ms; {figures}, "
            f"{len(lost)} contents lost with the old master, {len(self.faults)} faults",
            flush=True,
        )

    def drain(self):
        pass

    def end(self, rounds):
        codes = [gateway.stop() for gateway in self.fleet.gateways]
        self.expect(codes == [0, 0], "drain", f"exit codes {codes} after SIGTERM")


if __name__ == "__main__":
    main()
