"""docker-compose.yml: it mounts the files that the tests start the same parts with, and its parts find each other."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from deploy.compose_file import (
    GATEWAYS, JOB, REDIS_PASSWORD, STORES, ComposeFile, check_config, image_health, image_settings
)
from deploy.files import BINARY, COMPOSE, ROOT, directives, presets, properties
from wire.patience import PATIENCE_SECONDS, until

RISK = "HEARTLINE__DEMO__ISSUE_TOKENS_FOR_ANY_USER_WITH_THE_REAL_KEY"


class Compose(ComposeFile, unittest.TestCase):
    path = COMPOSE
    mounted = {
        "balancer": ["deploy/haproxy/haproxy.cfg"],
        "demo-door": ["deploy/haproxy/demo.cfg"],
        **STORES,
    }
    doors = {"balancer", "demo"}

    def test_each_service_is_there(self):
        expected = {"balancer", *GATEWAYS, "init", "redis", "kafka", "cassandra", JOB, "mongodb", "cascade", "demo", "demo-door"}
        self.assertEqual(set(self.services), expected)

    def test_every_gateway_takes_its_settings(self):
        for service in [*self.processes(), "init"]:
            self.takes_its_settings(service)
        settings = {**image_settings(), **self.settings("gateway-1")}
        refused = check_config({**settings, "HEARTLINE__SERVER__COLOUR": "blue"})
        self.assertEqual(refused.returncode, 78, "check-config takes whatever it is given")

    def test_gateways_find_redis_and_kafka(self):
        redis = directives(ROOT / "deploy/redis/redis.conf")
        kafka = properties(ROOT / "deploy/kafka/server.properties")
        for service in [*GATEWAYS, "demo", "init", JOB, "cascade"]:
            settings = self.settings(service)
            self.assertEqual(settings["HEARTLINE__STORE__HOT_STORE"], "redis")
            self.assertEqual(settings["HEARTLINE__REDIS__URL"], f"redis://default:{REDIS_PASSWORD}@redis:{redis['port']}")
            self.assertEqual(settings["HEARTLINE__EVENTS__EVENT_BUS"], "kafka")
            [broker] = json.loads(settings["HEARTLINE__KAFKA__BROKERS"])
            self.assertEqual(kafka["advertised.listeners"], f"PLAINTEXT://{broker}")
        clients, controller = (listener.split("://")[1] for listener in kafka["listeners"].split(","))
        self.assertEqual(clients.rpartition(":")[2], broker.rpartition(":")[2])
        quorum = self.services["kafka"]["environment"]["KAFKA_CONTROLLER_QUORUM_VOTERS"]
        self.assertEqual(quorum, f"{kafka['node.id']}@{controller}")
        self.assertIn("/etc/redis/redis.conf", self.services["redis"]["volumes"][0])

    def test_redis_asks_for_its_password_and_listens_on_all_addresses(self):
        """Its command as it is, but for the place of the file, and what says where the server of the test is."""
        self.assertEqual(self.settings("redis"), {"REDISCLI_AUTH": REDIS_PASSWORD})
        shell, option, script = self.services["redis"]["command"]
        with tempfile.TemporaryDirectory() as scratch:
            socket = Path(scratch) / "socket"
            here = f"{ROOT}/deploy/redis/redis.conf --port 0 --unixsocket {socket} --dir {scratch}"
            script = script.replace("$$", "$").replace("/etc/redis/redis.conf", here)
            environment = {**os.environ, **self.settings("redis")}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen([shell, option, script], env=environment, **quiet) as server:
                try:
                    until("Redis listens, or has ended", lambda: socket.exists() or server.poll() is not None)
                    self.assertEqual(asked(socket, {}, "ping")[:6], "NOAUTH")
                    self.assertEqual(asked(socket, self.settings("redis"), "config", "get", "bind"), "bind\n*\n")
                    # The process itself, so that a stop reaches it.
                    self.assertEqual(Path(f"/proc/{server.pid}/comm").read_text(), "redis-server\n")
                    server.terminate()
                    self.assertEqual(server.wait(PATIENCE_SECONDS), 0)
                finally:
                    server.kill()

    def test_subscribers_are_served(self):
        """By a cascade that starts with the rest: without one, they would be made and get nothing."""
        self.assertEqual(self.role("cascade"), "cascade")
        self.assertNotIn("profiles", self.services["cascade"])
        self.assertEqual(self.settings("cascade"), self.settings("init"))

    def test_data_is_kept_in_volumes(self):
        data = {service: self.services[service]["volumes"][-1].split(":") for service in ("redis", "kafka")}
        log_dirs = properties(ROOT / "deploy/kafka/server.properties")["log.dirs"]
        self.assertEqual(data, {"redis": ["redis", "/data"], "kafka": ["kafka", log_dirs]})

    def test_the_history_store_needs_its_profile_and_is_found(self):
        cassandra = self.services["cassandra"]
        self.assertEqual(cassandra["profiles"], ["history"])
        settings = yaml.safe_load((ROOT / "deploy/cassandra/cassandra.yaml").read_text())
        self.assertEqual(settings["seed_provider"][0]["parameters"], [{"seeds": "cassandra"}])
        [_, mounted, _] = cassandra["volumes"][0].split(":")
        self.assertEqual(cassandra["environment"]["JVM_EXTRA_OPTS"], f"-Dcassandra.config=file://{mounted}")
        address = f"cassandra:{settings['native_transport_port']}"
        for service in [*GATEWAYS, "demo", JOB]:
            self.assertEqual(json.loads(self.settings(service)["HEARTLINE__CASSANDRA__NODES"]), [address])

    def test_history_is_written_by_the_job_and_only_when_asked_for(self):
        job = self.services[JOB]
        self.assertEqual((job["profiles"], self.role(JOB)), (["history"], "job"))
        self.assertEqual(job["depends_on"], {"cassandra": {"condition": "service_healthy"}})
        chosen = {"HEARTLINE_HISTORY_STORE": "cassandra"}
        for service in [*GATEWAYS, "demo"]:
            self.assertEqual(self.role(service), "gateway")
            self.assertEqual(self.settings(service)["HEARTLINE__HISTORY__STORE"], "none")
            self.assertEqual(self.settings(service, **chosen)["HEARTLINE__HISTORY__STORE"], "cassandra")
            self.takes_its_settings(service, **chosen)
        # As the gateways have them, but that its store is always set.
        written = self.settings(JOB)
        self.assertEqual(written.pop("HEARTLINE__HISTORY__STORE"), "cassandra")
        self.assertLessEqual(written.items(), self.settings("gateway-1", **chosen).items())

    def test_views_are_counted_and_their_store_is_found_only_when_asked_for(self):
        mongodb = self.services["mongodb"]
        self.assertEqual(mongodb["profiles"], ["views"])
        self.assertIn("mongodb:/data/db", mongodb["volumes"])
        for service in [*GATEWAYS, "demo"]:
            settings = self.settings(service)
            self.assertEqual(settings["HEARTLINE__STATISTICS__STORE"], "embedded")
            self.assertEqual(settings["HEARTLINE__STATISTICS__URL"], "")
            chosen = {"HEARTLINE_STATISTICS_STORE": "mongodb"}
            settings = self.settings(service, **chosen)
            self.assertEqual(settings["HEARTLINE__STATISTICS__STORE"], "mongodb")
            # Where it listens unless its command says otherwise.
            self.assertEqual(settings["HEARTLINE__STATISTICS__URL"], "mongodb://mongodb:27017")
            self.assertNotIn("--port", mongodb["command"])
            self.assertTrue(set(mongodb["networks"]) & set(self.services[service]["networks"]))
            self.takes_its_settings(service, **chosen)

    def test_the_demo_is_asked_for_and_stays_on_loopback(self):
        for service in ("demo", "demo-door"):
            self.assertEqual(self.services[service]["profiles"], ["demo"])
        settings = self.settings("demo")
        assumed = presets(ROOT / "deploy/haproxy/demo.cfg")
        self.assertEqual(assumed["DEMO_GATEWAY"], settings["HEARTLINE__SERVER__LISTEN"])
        door = self.published("demo")[0][2]
        self.assertEqual(door, assumed["DEMO_LISTEN"].removeprefix(":"))
        self.assertEqual(self.services["demo-door"]["healthcheck"]["test"][-1], door)
        self.assertNotIn("HEARTLINE__SERVER__TRUSTED_PROXIES", settings)
        for service in GATEWAYS:
            self.assertNotIn(RISK, self.settings(service))
        self.assertEqual(settings[RISK], "true", "the demo would be off beside the key")

    def test_each_tier_reaches_only_the_next_one(self):
        reached = {name: set(service.get("networks", [])) for name, service in self.services.items()}
        self.assertEqual(reached["balancer"], {"front"})
        for service in GATEWAYS:
            self.assertEqual(reached[service], {"front", "store", "events"})
        self.assertEqual((reached["redis"], reached["kafka"], reached["init"]), ({"store"}, {"events"}, {"store"}))
        self.assertEqual((reached["cassandra"], reached[JOB]), ({"store"}, {"store", "events"}))
        self.assertEqual(reached["mongodb"], {"store"})
        # Subscribers are outside.
        self.assertEqual(reached["cascade"], {"store", "events", "outside"})
        self.assertFalse(reached["demo"] & reached["balancer"])
        for network in ("store", "events"):
            self.assertIs(self.file["networks"][network]["internal"], True, network)
        self.assertFalse({"front", "demo", "outside"} & {n for n, said in self.file["networks"].items() if said.get("internal")})

    def test_the_health_check_is_a_command_of_the_gateway(self):
        """Nothing listens, so it says no, in one line; a command that is unknown ends with 2."""
        [program, *arguments] = image_health()
        self.assertEqual(program, "/heartline")
        settings = {"HEARTLINE__ADMIN__LISTEN": "127.0.0.1:1"}
        asked = subprocess.run([BINARY, *arguments], env=settings, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((asked.returncode, asked.stderr.count("\n")), (1, 1), asked.stderr)


def asked(socket, environment, *words):
    """What a Redis answers."""
    command = ["redis-cli", "-s", socket, *words]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True).stdout
