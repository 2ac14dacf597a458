"""A compose file: what is read of it, and what holds for any."""

import ipaddress
import json
import os
import re
import subprocess
from pathlib import Path

import yaml

from deploy.files import BINARY, ROOT, presets
from deploy.hardening import Hardening
from wire.patience import PATIENCE_SECONDS
from wire.tokens import KEY

REDIS_PASSWORD = "a-password-of-the-tests"
# What the reader is to give.
GIVEN = {"HEARTLINE_KEY": KEY, "HEARTLINE_REDIS_PASSWORD": REDIS_PASSWORD}
GATEWAYS = ["gateway-1", "gateway-2"]
JOB = "history-job"
# The files that these services mount, below the root.
STORES = {
    "redis": ["deploy/redis/redis.conf"],
    "kafka": ["deploy/kafka"],
    "cassandra": ["deploy/cassandra/cassandra.yaml"],
}


class ComposeFile(Hardening):
    """With `TestCase`: what its tests read, and tests of what holds for every file."""

    path = None
    # The files below the root that services mount, in their order.
    mounted = {}
    # The services whose ports are published.
    doors = set()

    @classmethod
    def setUpClass(cls):
        cls.file = yaml.safe_load(cls.path.read_text())
        cls.services = {name: service_of(cls.path, name) for name in cls.file["services"]}

    @classmethod
    def settings(cls, service, **chosen):
        """Its environment, with what the reader is to give, and what they may choose, filled in."""
        given = cls.services[service]["environment"]
        return {name: filled_in(value, **chosen) for name, value in given.items()}

    def role(self, service):
        [command, option, role] = self.services[service]["command"]
        self.assertEqual((command, option), ("serve", "--role"))
        return role

    def published(self, service):
        """What is published, as (address of the machine, its port, port of the container)."""
        return [tuple(port.rsplit(":", 2)) for port in self.services[service].get("ports", [])]

    def processes(self):
        """The services that are Heartline and run on."""
        return [name for name, service in self.services.items() if service["image"] == "heartline" and name != "init"]

    def takes_its_settings(self, service, **chosen):
        settings = {**image_settings(), **self.settings(service, **chosen)}
        checked = check_config(settings, "all" if service == "init" else self.role(service))
        self.assertEqual(checked.returncode, 0, f"{service}: {checked.stderr}")

    def test_mounted_files_are_those_of_the_tests(self):
        for name, service in self.services.items():
            binds = [volume.split(":") for volume in service.get("volumes", []) if volume.startswith("/")]
            expected = [str(ROOT / path) for path in self.mounted.get(name, [])]
            self.assertEqual([source for source, _, _ in binds], expected, name)
            for source, _, mode in binds:
                self.assertEqual(mode, "ro", name)
                self.assertTrue(Path(source).exists(), source)

    def test_volumes_and_networks_are_declared(self):
        for name, service in self.services.items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                self.assertTrue(source.startswith("/") or source in self.file["volumes"], f"{name}: {volume}")
            networks = service.get("networks", [])
            self.assertTrue(set(networks) <= set(self.file["networks"]), f"{name}: {networks}")
            self.assertTrue(networks or service["network_mode"].startswith("service:"), name)

    def test_services_wait_for_services_that_are_there(self):
        for name, service in self.services.items():
            self.assertLessEqual(set(service.get("depends_on", [])), set(self.services), name)

    def test_nothing_is_published_but_to_this_machine(self):
        doors = {name: self.published(name) for name in self.services if self.published(name)}
        self.assertEqual(set(doors), self.doors)
        for name, published in doors.items():
            for address, _, _ in published:
                self.assertTrue(ipaddress.ip_address(address).is_loopback, f"{name} is published on {address}")

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
            self.assertEqual(settings["HEARTLINE__DEMO__ENABLED"], "false")
        port = assumed["LB_LISTEN"].removeprefix(":")
        self.assertEqual(self.published("balancer")[0], ("127.0.0.1", port, port))
        self.assertEqual(assumed["LB_DEMO"], "off")

    def test_control_stays_on_loopback(self):
        for service in self.processes():
            self.assertNotIn("HEARTLINE__CONTROL__LISTEN", self.settings(service), service)

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

    def test_a_stop_leaves_time_for_the_drain(self):
        """Of the default, since nothing here says otherwise."""
        drain = re.search(r'^drain_timeout = "(\d+)s"', (ROOT / "deploy/heartline.toml").read_text(), re.M)
        for service in self.processes():
            grace = self.services[service]["stop_grace_period"]
            self.assertGreater(int(grace.removesuffix("s")), int(drain[1]), service)

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
        for service in self.processes():
            self.assertEqual(self.services[service]["healthcheck"]["test"][1:], image_health())
        self.assertEqual(self.services["balancer"]["healthcheck"]["test"][-1], self.published("balancer")[0][2])

    def test_images_have_a_version(self):
        for name, service in self.services.items():
            image = service["image"]
            self.assertTrue(image == "heartline" or re.search(r":\d", image), f"{name}: {image}")


def service_of(path, name):
    """A service with what it takes from another file, which is all of it; paths are absolute."""
    service = yaml.safe_load(path.read_text())["services"][name]
    if "extends" in service:
        other, base = service["extends"]["file"], service["extends"]["service"]
        if len(service) > 1:
            raise AssertionError(f"{name} extends another service and has settings of its own")
        return service_of((path.parent / other).resolve(), base)
    volumes = [placed(volume, path.parent) for volume in service.get("volumes", [])]
    return {**service, **({"volumes": volumes} if volumes else {})}


def placed(volume, folder):
    source, rest = volume.split(":", 1)
    return f"{(folder / source).resolve()}:{rest}" if source.startswith(".") else volume


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
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: GIVEN[found[1]], text)
    text = re.sub(r"\$\{(\w+):\+([^}]*)\}", lambda found: found[2] if chosen.get(found[1]) else "", text)
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: chosen.get(found[1], found[2]), text)


def check_config(settings, role="all"):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HEARTLINE__")}
    return subprocess.run(
        [BINARY, "check-config", "--role", role], env={**kept, **settings}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
