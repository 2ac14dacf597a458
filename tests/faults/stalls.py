"""`python -m faults.stalls BINARY`: the services that gateways need go away for a while, without an error.

Redis is stopped, and says nothing on connections that stay; its connections are cut between a request and its answer;
Kafka is away. No client gets a false answer, the memory of gateways does not grow with time, and each recovers by
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
from wire.metrics import wait_for_acks, wait_until_no_acks
from wire.patience import until

# 700 connections with 512 slots each, and what the allocator keeps of them.
GROWTH_MIB_MAX = 96
# The longest time without an ack, by that before the fault. A shorter one is noise.
ACK_GAP_RATIO_MAX = 5
ACK_GAP_MS_MIN = 600
CUT_CHANCE = 0.02
ACKS_BEFORE = 1_500
ACKS_AFTER = 1_500


def main():
    parser = arguments(__doc__, rounds=3, users=60, newcomers=30)
    parser.add_argument("--redis-seconds", type=float, default=8, help="how long nothing may be acked")
    parser.add_argument("--kafka-seconds", type=float, default=30, help="how long Kafka is away at least")
    parser.add_argument("--cuts", type=int, default=30, help="connections that are cut")
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
        wait_for_acks(ACKS_BEFORE, *self.fleet.gateways)
        began = wall_ms()
        memory = Memory(self.fleet.gateways)
        what, judged_from, ended, judge_acks = self._faults[number]()
        grown = memory.grown_mib()
        recovered = self.fleet.wait_until_ready()
        wait_for_acks(ACKS_AFTER, *self.fleet.gateways)
        figures = self.park(began)
        judge_acks(judged_from, ended)
        back = min((ms - ended for ms in self.judge.ack_times if ms > ended), default=None)
        self.expect(back is not None, "recovery", f"no client got an ack after {what}")
        self.expect(max(grown) < GROWTH_MIB_MAX, "I8", f"the gateways have grown by {grown} MiB")
        self.read_back(self.judge.ledgers())
        self.judge_rewards(self.judge.ledgers())
        print(
            f"{what}: ready {recovered:.2f} s and acks {back} ms after it, grown by {grown} MiB; {figures}, "
            f"{self.judge.lost()} lost, {len(self.rewards.claims)} claims, {len(self.faults)} faults",
            flush=True,
        )

    def _redis_stopped(self):
        node = self.fleet.redis.nodes[0]
        node.pause()
        wait_until_no_acks(*self.fleet.gateways)
        still = wall_ms()
        time.sleep(self.args.redis_seconds)  # in which nothing may come
        ended = wall_ms()
        node.resume()
        return f"Redis stopped for {self.args.redis_seconds:.0f} s", still, ended, self._no_ack

    def _connections_cut(self):
        began = wall_ms()
        until(f"{self.args.cuts} connections are cut", lambda: self.proxy.cut(CUT_CHANCE) >= self.args.cuts)
        cuts, ended = self.proxy.cut(0), wall_ms()
        return f"{cuts} connections cut after a request in {(ended - began) / 1000:.0f} s", began, ended, lambda *_: None

    def _kafka_away(self):
        self.fleet.kafka.kill()
        began = wall_ms()
        time.sleep(self.args.kafka_seconds)  # in which acks must go on
        until("gateways say that Kafka is away", lambda: all(map(_is_degraded, self.fleet.gateways)))
        entries = until("a claim that waits for Kafka", self.fleet.redis.outbox_entries)
        ended = wall_ms()
        self.fleet.kafka.start()
        seconds = (ended - began) / 1000
        return f"Kafka away for {seconds:.0f} s with {entries} claims unpublished", began, ended, self._acks_go_on

    def _no_ack(self, began, ended):
        false = [ms - began for ms in self.judge.ack_times if began < ms < ended]
        self.expect(not false, "I4", f"acks without Redis, after so many ms: {false[:20]}")

    def _acks_go_on(self, began, ended):
        before = _longest_gap([ms for ms in self.judge.ack_times if ms < began])
        gap = _longest_gap([began, *(ms for ms in self.judge.ack_times if began < ms < ended), ended])
        longest = ACK_GAP_RATIO_MAX * max(before, ACK_GAP_MS_MIN)
        self.expect(gap < longest, "I7", f"no ack for {gap} ms without Kafka, for {before} ms before")

    def drain(self):
        self.log.replay()

    def end(self, rounds):
        codes = [gateway.stop() for gateway in self.fleet.gateways]
        self.expect(codes == [0, 0], "drain", f"exit codes {codes} after SIGTERM")

    def close(self):
        if self.proxy:
            self.proxy.stop()


def _is_degraded(gateway):
    answer = call(gateway.admin, "GET", "/readyz")
    return answer.status == 200 and "degraded" in answer.text


def _longest_gap(times):
    times = sorted(times)
    return max(after - before for before, after in zip(times, times[1:]))


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
