"""`python -m faults.stalls BINARY`: what gateways stand on goes away for a while, without a word.

Redis is stopped, and says nothing on connections that stay; its connections are cut between a request and its answer;
Kafka is away. Nobody is told what is not so, no gateway's memory grows with the time it takes, and each comes back by
itself.
"""

import re
import threading
import time
from pathlib import Path

from auditor.audit import arguments
from auditor.fleet import FleetAudit
from auditor.journal import wall_ms
from tiers.redis_server import SINGLE
from tiers.tcp_proxy import TcpProxy
from wire.http import call

# An ack that was on its way may be noted so late: the loaders play as fast as they can, and read what has piled up.
ON_THE_WAY_MS = 1_000
# From the end of a fault to the first ack.
RECOVERS_SECONDS_MAX = 15
# 700 connections with 512 slots each, and what the allocator keeps of them.
GROWTH_MIB_MAX = 96
ACK_GAP_MS_MAX = 3_000
CUT_CHANCE = 0.02
CUTS_MIN = 10
BEFORE_SECONDS = 3
AFTER_SECONDS = 5


def main():
    parser = arguments(__doc__, rounds=3, users=60, newcomers=30)
    parser.add_argument("--redis-seconds", type=float, default=10)
    parser.add_argument("--kafka-seconds", type=float, default=30)
    parser.add_argument("--cut-seconds", type=float, default=10)
    args = parser.parse_args()
    Stalls.on_a_fleet(args, SINGLE)


class Stalls(FleetAudit):
    proxy = None

    def start(self):
        self.fleet.redis.start()
        self.proxy = TcpProxy(self.fleet.redis.nodes[0].port, self.args.seed).start()
        self.fleet.start(redis_url=f"redis://127.0.0.1:{self.proxy.port}")
        self._faults = {1: self._redis_stopped, 2: self._connections_cut, 3: self._kafka_away}

    def round(self, number):
        self.play()
        time.sleep(BEFORE_SECONDS)
        began = wall_ms()
        memory = Memory(self.fleet.gateways)
        what, ended, judge_acks = self._faults[number]()
        grown = memory.grown_mib()
        recovered = self.fleet.wait_until_ready()
        time.sleep(AFTER_SECONDS)
        figures = self.park(began)
        judge_acks(began, ended)
        first = min((ms for ms in self.judge.ack_times if ms > ended), default=None)
        back = first and (first - ended) / 1000
        self.expect(back and back < RECOVERS_SECONDS_MAX, "recovery", f"the first ack {back} s after the end")
        self.expect(max(grown) < GROWTH_MIB_MAX, "I8", f"the gateways have grown by {grown} MiB")
        self.read_back(self.judge.ledgers())
        self.judge_rewards(self.judge.ledgers())
        print(
            f"{what}: ready {recovered:.2f} s and acks {back} s after it, grown by {grown} MiB; {figures}, "
            f"{self.judge.lost()} lost, {len(self.rewards.claims)} claims, {len(self.faults)} faults",
            flush=True,
        )

    def _redis_stopped(self):
        node = self.fleet.redis.nodes[0]
        node.pause()
        time.sleep(self.args.redis_seconds)
        ended = wall_ms()
        node.resume()
        return f"Redis stopped for {self.args.redis_seconds:.0f} s", ended, self._no_ack

    def _connections_cut(self):
        self.proxy.cut(CUT_CHANCE)
        time.sleep(self.args.cut_seconds)
        cuts = self.proxy.cut(0)
        self.expect(cuts >= CUTS_MIN, "load", f"only {cuts} connections were cut")
        return f"{cuts} connections cut after a request in {self.args.cut_seconds:.0f} s", wall_ms(), lambda *_: None

    def _kafka_away(self):
        self.fleet.kafka.kill()
        time.sleep(self.args.kafka_seconds)
        entries = self.fleet.redis.outbox_entries()
        said = [call(gateway.admin, "GET", "/readyz") for gateway in self.fleet.gateways]
        degraded = all(answer.status == 200 and "degraded" in answer.text for answer in said)
        self.expect(degraded, "readiness", f"without Kafka: {[(answer.status, answer.text) for answer in said]}")
        self.expect(entries, "load", "no claim waits although Kafka is away")
        ended = wall_ms()
        self.fleet.kafka.start()
        return f"Kafka away for {self.args.kafka_seconds:.0f} s with {entries} claims unpublished", ended, self._acks_go_on

    def _no_ack(self, began, ended):
        false = [ms - began for ms in self.judge.ack_times if began + ON_THE_WAY_MS < ms < ended]
        self.expect(not false, "I4", f"acks without Redis, after so many ms: {false[:20]}")

    def _acks_go_on(self, began, ended):
        times = sorted([began, *(ms for ms in self.judge.ack_times if began < ms < ended), ended])
        gap = max(after - before for before, after in zip(times, times[1:]))
        self.expect(gap < ACK_GAP_MS_MAX, "I7", f"no ack for {gap} ms without Kafka")

    def drain(self):
        self.log.replay()

    def end(self, rounds):
        codes = [gateway.stop() for gateway in self.fleet.gateways]
        self.expect(codes == [0, 0], "drain", f"exit codes {codes} after SIGTERM")

    def close(self):
        if self.proxy:
            self.proxy.stop()


class Memory:
    """How far gateways have grown from now on, at most."""

    def __init__(self, gateways):
        self._pids = [gateway.process.pid for gateway in gateways]
        self._before = self._most = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def grown_mib(self):
        self._stop.set()
        self._thread.join()
        return [round((most - before) / 1024) for most, before in zip(self._most, self._before)]

    def _look(self):
        while not self._stop.wait(0.2):
            self._most = list(map(max, self._most, self._now()))

    def _now(self):
        """Resident kilobytes of each."""
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in self._pids)
        return [int(re.search(r"VmRSS:\s+(\d+)", text)[1]) for text in texts]


if __name__ == "__main__":
    main()
