"""`python -m faults.failover BINARY`: the master under Sentinel is killed, and its replica takes its place.

Beats are acked again within seconds, by gateways that nobody has touched. What the old master acknowledged and had not
passed on is lost, as docs/operations.md says: how much that was is told, and not judged.
"""

import time

from auditor.audit import arguments
from auditor.fleet import FleetAudit
from auditor.journal import wall_ms
from tiers.redis_server import SENTINEL

# Sentinel is told to wait 1 s, elects, and tells the gateways.
ALIVE_SECONDS_MAX = 15
BEFORE_SECONDS = 3
AFTER_SECONDS = 3
# What users may see of that.
LOST = {"I1", "I5", "forgetting", "recording", "flag"}


def main():
    args = arguments(__doc__, rounds=2, users=60, newcomers=30).parse_args()
    Failover.on_a_fleet(args, SENTINEL)


class Failover(FleetAudit):
    def round(self, number):
        self.play()
        time.sleep(BEFORE_SECONDS)
        master, killed = self.fleet.redis.master(), wall_ms()
        master.kill()
        while self.fleet.redis.master() in (master, None):
            if wall_ms() - killed > 1000 * ALIVE_SECONDS_MAX:
                raise RuntimeError("Sentinel names no other master")
            time.sleep(0.05)
        named = wall_ms()
        time.sleep(ALIVE_SECONDS_MAX - (named - killed) / 1000)
        master.start()
        recovered = self.fleet.wait_until_ready()
        time.sleep(AFTER_SECONDS)
        figures = self.park(killed)
        first = min((ms for ms in self.judge.ack_times if ms > named), default=None)
        alive = first and (first - killed) / 1000
        self.expect(alive and alive < ALIVE_SECONDS_MAX, "liveness", f"the first ack {alive} s after the kill")
        self.read_back(self.judge.ledgers())
        lost = [fault for fault in self.faults if fault[0] in LOST]
        self.faults[:] = [fault for fault in self.faults if fault not in lost]
        print(
            f"round {number}: another master after {(named - killed) / 1000:.2f} s, acks after {alive} s; {figures}, "
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
