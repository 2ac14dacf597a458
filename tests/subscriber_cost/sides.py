"""The two sides: each takes events for owners, and delivers them to the receiver."""

import json
import os
import signal
import subprocess
from contextlib import contextmanager, nullcontext
from pathlib import Path

from kafka import KafkaProducer

from subscriber_audit.sites import SETTINGS, CascadeProcess, SocketGateway
from tiers.fleet import Fleet
from tiers.redis_server import Redis, SINGLE
from wire.kept import Kept
from wire.patience import until

TOPIC = "heartline.rewards"
TYPE = "dev.heartline.reward.v1"
MAKE_SECONDS_MAX = 120


def event(number, owner):
    """A reward as a gateway publishes it, in the structured mode; the owner is found by its user."""
    data = {
        "rule": "first-view", "mid": str(owner), "day": "2026-11-20", "zone": "Europe/Berlin", "kind": 1,
        "oid": str(number), "session": str(number), "device": "tv", "watched": 5_000, "claimed_at": 1_795_150_000_118,
    }
    return {
        "specversion": "1.0", "id": f"first-view:2026-11-20:{owner}:1:{number}", "source": "/heartline/cost",
        "type": TYPE, "subject": str(owner), "time": "2026-11-20T04:46:40.118Z",
        "datacontenttype": "application/json", "partitionkey": str(owner), "data": data,
    }


class OneGateway(Fleet):
    """Its gateway delivers nothing, or what that costs would not be counted."""

    gateway_kind = SocketGateway


class Heartline:
    """A cascade and a gateway for its control API, on a Redis and a Kafka of their own."""

    name = "heartline"

    def __init__(self, binary, scratch, receiver, owners):
        self._fleet = OneGateway(binary, scratch / "heartline", SINGLE, gateways=1, **SETTINGS)
        self._receiver, self._owners = receiver, owners

    def start(self):
        self._fleet.start()
        kept, gateway = Kept(), self._fleet.gateways[0]
        for owner in range(self._owners):
            body = {"url": self._receiver.url(owner), "types": [TYPE], "filter": {"mids": [str(owner)]}, "batch": 1}
            path = f"/v1/subscribers/owner-{owner}"
            # A topic that was just made has no leader yet.
            until(path, lambda: kept.ask(gateway.control, "PUT", path, body=body)[0] in (200, 201), MAKE_SECONDS_MAX)
        self._cascade = self._fleet.process(CascadeProcess, "cascade", self._fleet.redis.url)
        self._cascade.start()
        self._producer = KafkaProducer(bootstrap_servers=self._fleet.kafka.address, acks="all", linger_ms=5)

    @property
    def processes(self):
        return {"cascade": self._cascade.process.pid, "redis": self._fleet.redis.nodes[0].pid}

    @contextmanager
    def all_at_once(self):
        """What is sent meanwhile waits in Kafka."""
        self._cascade.process.send_signal(signal.SIGSTOP)
        yield
        self._producer.flush()
        self._cascade.process.send_signal(signal.SIGCONT)

    def send(self, events):
        for owner, one in events:
            attributes = [(name, value) for name, value in one.items() if name not in ("data", "datacontenttype")]
            headers = [(f"ce_{name}", value.encode()) for name, value in attributes]
            headers.append(("content-type", b"application/json"))
            value = json.dumps(one["data"], separators=(",", ":")).encode()
            self._producer.send(TOPIC, value, key=owner.encode(), headers=headers)

    def end(self):
        if hasattr(self, "_cascade"):
            self._cascade.kill()
        self._fleet.end()


class BullMq:
    """A process with a queue and a worker for each owner, on a Redis of its own with the same settings."""

    name = "bullmq"

    def __init__(self, node, folder, scratch, receiver, owners):
        self._node, self._folder, self._receiver, self._owners = node, folder, receiver, owners
        self._redis, self._process = Redis(SINGLE, scratch / "bullmq"), None

    def start(self):
        self._redis.start()
        script = Path(__file__).with_name("bullmq.mjs")
        words = [self._node, script, self._redis.nodes[0].port, self._receiver.port, self._owners]
        self._process = subprocess.Popen(
            list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "BULLMQ": str(self._folder)},
        )
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("BullMQ does not start")

    @property
    def processes(self):
        return {"node": self._process.pid, "redis": self._redis.nodes[0].pid}

    def all_at_once(self):
        return nullcontext()

    def send(self, events):
        self._process.stdin.write(json.dumps(events) + "\n")
        self._process.stdin.flush()

    def end(self):
        if self._process:
            self._process.kill()
            self._process.wait()
        self._redis.stop()
