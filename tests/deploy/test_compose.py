"""docker-compose.yml: it mounts the files that the tests start the same parts with, and its parts find each other."""

import ipaddress
import json
import os
import re
import subprocess
import unittest

import yaml

from deploy.files import BINARY, ROOT, compose, directives, presets, properties
from wire.patience import PATIENCE_SECONDS
from wire.tokens import KEY

REDIS_PASSWORD = "a-password-of-the-tests"
RISK = "HEARTLINE__DEMO__ISSUE_TOKENS_FOR_ANY_USER_WITH_THE_REAL_KEY"
GATEWAYS = ["gateway-1", "gateway-2"]
JOB = "history-job"
MOUNTED = {
    "balancer": "deploy/haproxy/haproxy.cfg",
    "demo-door": "deploy/haproxy/demo.cfg",
    "redis": "deploy/redis/redis.conf",
    "kafka": "deploy/kafka",
    "cassandra": "deploy/cassandra/cassandra.yaml",
}


class Compose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = compose()
        cls.services = cls.file["services"]

    def settings(self, service, **chosen):
        """Its environment, with what the reader is to give, and what they may choose, filled in."""
        given = self.services[service]["environment"]
        return {name: filled_in(value, **chosen) for name, value in given.items()}

    def role(self, service):
        [command, option, role] = self.services[service]["command"]
        self.assertEqual((command, option), ("serve", "--role"))
        return role

    def published(self, service):
        """What is published, as (address of the machine, its port, port of the container)."""
        return [tuple(port.rsplit(":", 2)) for port in self.services[service].get("ports", [])]

    def test_each_service_is_there(self):
        expected = {"balancer", *GATEWAYS, "init", "redis", "kafka", "cassandra", JOB, "mongodb", "demo", "demo-door"}
        self.assertEqual(set(self.services), expected)

    def test_mounted_files_are_those_of_the_tests(self):
        for service, path in MOUNTED.items():
            binds = [volume for volume in self.services[service]["volumes"] if volume.startswith(".")]
            self.assertEqual(len(binds), 1, binds)
            source, _, mode = binds[0].split(":")
            self.assertEqual((source, mode), (f"./{path}", "ro"))
            self.assertTrue((ROOT / path).exists(), path)
        for name, service in self.services.items():
            binds = [volume for volume in service.get("volumes", []) if volume.startswith((".", "/"))]
            self.assertTrue(name in MOUNTED or not binds, f"{name} mounts {binds}")

    def test_volumes_and_networks_are_declared(self):
        for name, service in self.services.items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                self.assertTrue(source.startswith(".") or source in self.file["volumes"], f"{name}: {volume}")
            networks = service.get("networks", [])
            self.assertTrue(set(networks) <= set(self.file["networks"]), f"{name}: {networks}")
            self.assertTrue(networks or service["network_mode"] == "service:demo", name)
        data = {service: self.services[service]["volumes"][-1] for service in ("redis", "kafka")}
        self.assertEqual(data["redis"].split(":")[1], "/data")
        self.assertEqual(data["kafka"].split(":")[1], properties(ROOT / "deploy/kafka/server.properties")["log.dirs"])

    def test_every_gateway_takes_its_settings(self):
        for service in [*GATEWAYS, "demo", "init", JOB]:
            settings = {**image_settings(), **self.settings(service)}
            checked = check_config(settings, "all" if service == "init" else self.role(service))
            self.assertEqual(checked.returncode, 0, f"{service}: {checked.stderr}")
        refused = check_config({**settings, "HEARTLINE__SERVER__COLOUR": "blue"})
        self.assertEqual(refused.returncode, 78, "check-config takes whatever it is given")

    def test_gateways_find_redis_and_kafka(self):
        redis = directives(ROOT / "deploy/redis/redis.conf")
        kafka = properties(ROOT / "deploy/kafka/server.properties")
        for service in [*GATEWAYS, "demo", "init", JOB]:
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
        # Another address than loopback, given after the file.
        command = self.services["redis"]["command"]
        self.assertEqual(command[:4], ["redis-server", "/etc/redis/redis.conf", "--bind", "*"])
        self.assertEqual([filled_in(word) for word in command[4:]], ["--requirepass", REDIS_PASSWORD])
        self.assertEqual(self.settings("redis")["REDISCLI_AUTH"], REDIS_PASSWORD)
        self.assertIn("/etc/redis/redis.conf", self.services["redis"]["volumes"][0])

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
            settings = {**image_settings(), **self.settings(service, **chosen)}
            self.assertEqual(settings["HEARTLINE__HISTORY__STORE"], "cassandra")
            checked = check_config(settings, "gateway")
            self.assertEqual(checked.returncode, 0, checked.stderr)
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
            settings = self.settings(service, HEARTLINE_STATISTICS_STORE="mongodb")
            self.assertEqual(settings["HEARTLINE__STATISTICS__STORE"], "mongodb")
            # Where it listens unless its command says otherwise.
            self.assertEqual(settings["HEARTLINE__STATISTICS__URL"], "mongodb://mongodb:27017")
            self.assertNotIn("--port", mongodb["command"])
            self.assertTrue(set(mongodb["networks"]) & set(self.services[service]["networks"]))
            checked = check_config({**image_settings(), **settings}, self.role(service))
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_balancer_finds_the_gateways(self):
        assumed = presets(ROOT / "deploy/haproxy/haproxy.cfg")
        self.assertNotIn("environment", self.services["balancer"])
        for number, service in enumerate(GATEWAYS, 1):
            settings = {**image_settings(), **self.settings(service)}
            host, port = assumed[f"GATEWAY_{number}"].split(":")
            self.assertEqual(host, service)
            self.assertEqual(settings["HEARTLINE__SERVER__LISTEN"], f"0.0.0.0:{port}")
            admin = assumed[f"GATEWAY_{number}_ADMIN_PORT"]
            self.assertEqual(settings["HEARTLINE__ADMIN__LISTEN"], f"0.0.0.0:{admin}")
            self.assertNotIn("HEARTLINE__CONTROL__LISTEN", settings, "control stays on loopback")
        port = assumed["LB_LISTEN"].removeprefix(":")
        self.assertEqual(self.published("balancer"), [("127.0.0.1", port, port)])
        self.assertEqual(assumed["LB_DEMO"], "off")

    def test_the_gateways_believe_the_balancer_only(self):
        address = self.services["balancer"]["networks"]["front"]["ipv4_address"]
        [subnet] = self.file["networks"]["front"]["ipam"]["config"]
        self.assertIn(ipaddress.ip_address(address), ipaddress.ip_network(subnet["subnet"]))
        # The gateways start first, and would be given it.
        self.assertNotIn(ipaddress.ip_address(address), ipaddress.ip_network(subnet["ip_range"]))
        for service in GATEWAYS:
            settings = self.settings(service)
            self.assertEqual(json.loads(settings["HEARTLINE__SERVER__TRUSTED_PROXIES"]), [f"{address}/32"])
            self.assertEqual(settings["HEARTLINE__SERVER__PROXY_PROTOCOL"], "true")
        self.assertNotIn("HEARTLINE__SERVER__TRUSTED_PROXIES", self.settings("demo"))

    def test_nothing_is_published_but_to_this_machine(self):
        doors = {name: self.published(name) for name in self.services if self.published(name)}
        self.assertEqual(set(doors), {"balancer", "demo"})
        for name, published in doors.items():
            for address, _, _ in published:
                self.assertTrue(ipaddress.ip_address(address).is_loopback, f"{name} is published on {address}")

    def test_the_demo_is_asked_for_and_stays_on_loopback(self):
        for service in ("demo", "demo-door"):
            self.assertEqual(self.services[service]["profiles"], ["demo"])
        settings = self.settings("demo")
        assumed = presets(ROOT / "deploy/haproxy/demo.cfg")
        self.assertEqual(assumed["DEMO_GATEWAY"], settings["HEARTLINE__SERVER__LISTEN"])
        self.assertEqual(self.published("demo")[0][2], assumed["DEMO_LISTEN"].removeprefix(":"))
        for service in GATEWAYS:
            given = {**image_settings(), **self.settings(service)}
            self.assertEqual(given["HEARTLINE__DEMO__ENABLED"], "false")
            self.assertNotIn(RISK, given)
        self.assertEqual(settings[RISK], "true", "the demo would be off beside the key")

    def test_a_stop_leaves_time_for_the_drain(self):
        """Of the default, since nothing here says otherwise."""
        drain = re.search(r'^drain_timeout = "(\d+)s"', (ROOT / "deploy/heartline.toml").read_text(), re.M)
        for service in [*GATEWAYS, "demo", JOB]:
            grace = self.services[service]["stop_grace_period"]
            self.assertGreater(int(grace.removesuffix("s")), int(drain[1]), service)

    def test_each_tier_reaches_only_the_next_one(self):
        reached = {name: set(service.get("networks", [])) for name, service in self.services.items()}
        self.assertEqual(reached["balancer"], {"front"})
        for service in GATEWAYS:
            self.assertEqual(reached[service], {"front", "store", "events"})
        self.assertEqual((reached["redis"], reached["kafka"], reached["init"]), ({"store"}, {"events"}, {"store"}))
        self.assertEqual((reached["cassandra"], reached[JOB]), ({"store"}, {"store", "events"}))
        self.assertEqual(reached["mongodb"], {"store"})
        self.assertFalse(reached["demo"] & reached["balancer"])
        for network in ("store", "events"):
            self.assertIs(self.file["networks"][network]["internal"], True, network)
        self.assertFalse({"front", "demo"} & {n for n, said in self.file["networks"].items() if said.get("internal")})

    def test_memory_has_a_limit(self):
        for name, service in self.services.items():
            limit = service["mem_limit"]
            self.assertRegex(limit, r"^[1-9]\d*[mg]$", name)
            self.assertGreaterEqual(bytes_of(limit), 128 << 20, name)

    def test_the_connection_limit_fits_memory_and_descriptors(self):
        balancer = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        [connections] = map(int, re.findall(r"^    maxconn (\d+)$", balancer, re.M))
        [descriptors] = map(int, re.findall(r"^    fd-hard-limit (\d+)$", balancer, re.M))
        self.assertGreater(descriptors, 2 * connections)
        self.assertEqual(self.services["balancer"]["ulimits"]["nofile"], descriptors)
        self.assertLess(connections * 12_000, 0.75 * bytes_of(self.services["balancer"]["mem_limit"]))
        first, last = self.services["balancer"]["sysctls"]["net.ipv4.ip_local_port_range"].split()
        self.assertGreater(int(last) - int(first), connections)
        for service in GATEWAYS:
            # One of them gets all while the other is away.
            self.assertEqual(int(self.settings(service)["HEARTLINE__LIMITS__CONNECTIONS"]), connections)
            self.assertGreater(self.services[service]["ulimits"]["nofile"], connections)
            taken = connections * 10_000 + (250 << 20)
            self.assertLess(taken, 0.75 * bytes_of(self.services[service]["mem_limit"]))

    def test_health_checks_run_without_a_shell(self):
        for name, service in self.services.items():
            check = service["healthcheck"]
            if name == "init":
                self.assertEqual(check, {"disable": True})
                continue
            self.assertEqual(check["test"][0], "CMD", name)
            self.assertTrue(all(isinstance(word, str) for word in check["test"]), name)
        for service in [*GATEWAYS, "demo", JOB]:
            self.assertEqual(self.services[service]["healthcheck"]["test"][1:], image_health())
        self.assertEqual(self.services["demo-door"]["healthcheck"]["test"][-1], self.published("demo")[0][2])
        self.assertEqual(self.services["balancer"]["healthcheck"]["test"][-1], self.published("balancer")[0][2])

    def test_the_health_check_is_a_command_of_the_gateway(self):
        """Nothing listens, so it says no, in one line; a command that is unknown ends with 2."""
        [program, *arguments] = image_health()
        self.assertEqual(program, "/heartline")
        settings = {"HEARTLINE__ADMIN__LISTEN": "127.0.0.1:1"}
        asked = subprocess.run([BINARY, *arguments], env=settings, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((asked.returncode, asked.stderr.count("\n")), (1, 1), asked.stderr)

    def test_images_have_a_version(self):
        for name, service in self.services.items():
            image = service["image"]
            self.assertTrue(image == "heartline" or re.search(r":\d", image), f"{name}: {image}")


def bytes_of(limit):
    return int(limit[:-1]) * {"m": 1 << 20, "g": 1 << 30}[limit[-1]]


def image_settings():
    """What the image sets by itself."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    [line] = re.findall(r"^ENV (.*)$", text, re.M)
    return dict(pair.split("=", 1) for pair in line.split())


def image_health():
    """What the image is asked by."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    [check] = re.findall(r"^HEALTHCHECK .*?CMD (\[.*\])$", text, re.M)
    return json.loads(check)


def filled_in(text, **chosen):
    """With what the reader is to give. What they may choose is as `chosen`, or the default."""
    given = {"HEARTLINE_KEY": KEY, "HEARTLINE_REDIS_PASSWORD": REDIS_PASSWORD}
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: given[found[1]], text)
    text = re.sub(r"\$\{(\w+):\+([^}]*)\}", lambda found: found[2] if chosen.get(found[1]) else "", text)
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: chosen.get(found[1], found[2]), text)


def check_config(settings, role="all"):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HEARTLINE__")}
    return subprocess.run(
        [BINARY, "check-config", "--role", role], env={**kept, **settings}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
