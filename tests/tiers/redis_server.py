"""Redis: one server, a Cluster of three masters, or a master under Sentinel."""

import subprocess
import time
from pathlib import Path

from tiers.server import SERVICES, START_SECONDS_MAX, Server
from wire.patience import PATIENCE_SECONDS

SHARDS = 1_000
SINGLE, CLUSTER, SENTINEL = "single", "cluster", "sentinel"
# A scan by a script: test servers are small.
MOST_ROWS = """
local most = 0
for _, key in ipairs(redis.call("KEYS", "{h*}:r:*")) do most = math.max(most, redis.call("HLEN", key)) end
return most"""


class RedisNode(Server):
    """One server; `watches`: a sentinel."""

    def __init__(self, directory, port, pid, watches):
        command = ["redis-server", directory / f"{port}" / "redis.conf"]
        if watches:
            command = ["redis-server", directory / f"{port}" / "sentinel.conf", "--sentinel"]
        super().__init__(f"Redis on {port}", command, directory / f"{port}" / "stdout", pid)
        self.port, self.watches = port, watches

    def answers(self):
        return self.cli("PING") == ["PONG"]

    def cli(self, *words):
        """The lines of redis-cli."""
        return _cli(self.port, *words, text=None)

    def ask(self, commands):
        """The answers of one line each."""
        return _cli(self.port, text="".join(f"{command}\n" for command in commands))


class Redis:
    def __init__(self, kind, directory):
        self.kind, self._directory = kind, Path(directory)
        self.nodes = []
        self.url = None

    def start(self):
        """All of it, the first time; later nodes are started by themselves."""
        if self.url:
            return self
        command = [SERVICES / "redis.sh", self.kind, self._directory]
        self._script = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for line in self._script.stdout:
            if line.startswith("redis"):
                self.url = line.strip()
                return self
            port, pid = map(int, line.split())
            watches = self.kind == SENTINEL and len(self.nodes) > 1
            self.nodes.append(RedisNode(self._directory, port, pid, watches))
        raise RuntimeError(f"{command} ended with {self._script.wait()}")

    def wait_until_whole(self):
        """Every node answers, and a Cluster has all its slots."""
        give_up = time.monotonic() + START_SECONDS_MAX
        while not all(self._is_whole(node) for node in self.nodes):
            if time.monotonic() > give_up:
                raise RuntimeError("Redis is not whole again")
            time.sleep(0.02)

    def master(self):
        """The server that the sentinels name."""
        address = next(node for node in self.nodes if node.watches and node.pid).cli(
            "SENTINEL", "get-master-addr-by-name", "heartline"
        )
        return next((node for node in self.nodes if address[1:] == [str(node.port)]), None)

    def replica_has_all(self):
        """Whether the replica under Sentinel has caught up with its master."""
        master = self.master()
        replicas = [node for node in self.nodes if not node.watches and node is not master]
        return master is not None and all("master_link_status:up" in node.cli("INFO", "replication") for node in replicas)

    def outbox_entries(self):
        """Of all shards together, by redis-cli."""
        return self._entries("o")

    def listed_users(self):
        """Users whose changes wait to be carried to the history store, likewise."""
        return self._entries("d")

    def marks(self):
        """The keys that say which contents of listed users have changed; of a single server."""
        return self.nodes[0].cli("--scan", "--pattern", "{h*}:p:*")

    def rows_of(self, mid):
        """The key of the user's rows outside the head, if there are any; of a single server."""
        return self.nodes[0].cli("--scan", "--pattern", f"{{h*}}:r:{mid}")

    def most_rows(self):
        """The most rows that any user has outside the head; of a single server."""
        return int(self.nodes[0].cli("EVAL", MOST_ROWS, "0")[0])

    def _entries(self, name):
        """Of the sorted sets of this name."""
        asked = "".join(f"ZCARD {{h{shard}}}:{name}\n" for shard in range(SHARDS))
        node = self.master() if self.kind == SENTINEL else self.nodes[0]
        said = _cli(node.port, *(["-c"] if self.kind == CLUSTER else []), text=asked)
        counts = [line for line in said if not line.startswith("-> Redirected")]
        if len(counts) != SHARDS:
            raise RuntimeError(f"Redis answers {len(counts)} of {SHARDS} questions: {counts[:3]}")
        return sum(map(int, counts))

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.url:
            self._script.terminate()
            self._script.wait()
            self._script.stdout.close()

    def _is_whole(self, node):
        if self.kind == CLUSTER:
            return "cluster_state:ok" in node.cli("CLUSTER", "INFO")
        return node.answers()


def _cli(port, *words, text):
    """`text`: commands on its input, one a line."""
    command = ["redis-cli", "-h", "127.0.0.1", "-p", str(port), *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    return done.stdout.splitlines()
