"""The compose file of a fleet: gateways without a store, and history services, which alone reach Redis and Kafka."""

import json
import re
import unittest

from deploy.compose_file import GATEWAYS, GIVEN, JOB, STORES, ComposeFile
from deploy.files import COMPOSE, FLEET, ROOT, presets

HISTORY = ["history-1", "history-2"]
SAME = [*STORES, "mongodb"]
# What a gateway of a fleet is not told.
OF_STORES = ("HEARTLINE__REDIS__", "HEARTLINE__KAFKA__", "HEARTLINE__CASSANDRA__", "HEARTLINE__STATISTICS__")


class Smaller(ComposeFile):
    """What the other file says."""

    path = COMPOSE


class Fleet(ComposeFile, unittest.TestCase):
    path = FLEET
    mounted = {"balancer": ["deploy/haproxy/haproxy.cfg", "deploy/haproxy/fleet.cfg"], **STORES}
    doors = {"balancer"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Smaller.setUpClass()

    def test_each_service_is_there(self):
        self.assertEqual(set(self.services), {"balancer", *GATEWAYS, *HISTORY, "init", *SAME, JOB, "cascade"})

    def test_each_process_has_its_role(self):
        roles = {service: self.role(service) for service in self.processes()}
        expected = {JOB: "job", "cascade": "cascade", **dict.fromkeys(GATEWAYS, "gateway"), **dict.fromkeys(HISTORY, "history")}
        self.assertEqual(roles, expected)
        profiles = {name: service["profiles"] for name, service in self.services.items() if "profiles" in service}
        # Not the cascade: without it, subscribers would be made and get nothing.
        expected = {JOB: ["history"], "cassandra": ["history"], "mongodb": ["views"]}
        self.assertEqual(profiles, expected)

    def test_what_is_behind_the_store_takes_its_settings(self):
        for service in [*HISTORY, "init", "cascade", JOB]:
            self.takes_its_settings(service)
        for chosen in ({"HEARTLINE_HISTORY_STORE": "cassandra"}, {"HEARTLINE_STATISTICS_STORE": "mongodb"}):
            for service in HISTORY:
                self.takes_its_settings(service, **chosen)

    def test_every_gateway_takes_its_settings(self):
        for service in GATEWAYS:
            self.takes_its_settings(service)

    def test_stores_and_their_settings_are_those_of_the_other_file(self):
        """So what is tried of them there holds here."""
        for name in SAME:
            self.assertEqual(self.file["services"][name], {"extends": {"file": "../../docker-compose.yml", "service": name}})
        for name in ("volumes", "networks"):
            used = {one.split(":")[0] for service in SAME for one in self.services[service].get(name, [])}
            self.assertLessEqual({one for one in used if not one.startswith("/")}, set(self.file[name]))
        settings = self.settings("history-1")
        self.assertEqual(settings.pop("HEARTLINE__GRPC__LISTEN"), "0.0.0.0:7703")
        self.assertLessEqual(settings.items(), Smaller.settings("gateway-1").items())

    def test_the_job_and_the_cascade_have_the_settings_of_the_history_services(self):
        settings = self.settings("history-1")
        self.assertEqual(self.settings("history-2"), settings)
        self.assertEqual(self.settings("cascade"), settings)
        self.assertEqual(self.settings("init"), settings)
        self.assertEqual(self.settings(JOB), {**settings, "HEARTLINE__HISTORY__STORE": "cassandra"})

    def test_gateways_have_no_store_and_know_all_history_services(self):
        port = self.settings("history-1")["HEARTLINE__GRPC__LISTEN"].rpartition(":")[2]
        for service in GATEWAYS:
            settings = self.settings(service)
            self.assertEqual(settings["HEARTLINE__STORE__HOT_STORE"], "history-service")
            addresses = json.loads(settings["HEARTLINE__HISTORY_SERVICE__ADDRESSES"])
            self.assertEqual(addresses, [f"http://{name}:{port}" for name in HISTORY])
            self.assertNotIn("HEARTLINE__HISTORY_SERVICE__TOKEN", settings, "each signs its own")
            # The tokens of both are signed with one key.
            key = "HEARTLINE__AUTH__HS256_SECRET"
            self.assertEqual(settings[key], self.settings("history-1")[key])
            self.assertFalse([name for name in settings if name.startswith(OF_STORES)])

    def test_the_balancer_finds_the_history_services(self):
        assumed = presets(ROOT / "deploy/haproxy/fleet.cfg")
        for number, service in enumerate(HISTORY, 1):
            settings = self.settings(service)
            host, port = assumed[f"HISTORY_{number}"].split(":")
            self.assertEqual((host, f"0.0.0.0:{port}"), (service, settings["HEARTLINE__GRPC__LISTEN"]))
            admin = assumed[f"HISTORY_{number}_ADMIN_PORT"]
            self.assertEqual(settings["HEARTLINE__ADMIN__LISTEN"], f"0.0.0.0:{admin}")
        port = assumed["LB_HISTORY"].removeprefix(":")
        self.assertEqual(self.published("balancer")[1:], [("127.0.0.1", port, port)])
        mounted = [volume.split(":")[1] for volume in self.services["balancer"]["volumes"]]
        command = self.services["balancer"]["command"]
        self.assertEqual(command, ["haproxy", *(word for path in mounted for word in ("-f", path))])

    def test_each_tier_reaches_only_the_next_one(self):
        reached = {name: set(service["networks"]) for name, service in self.services.items()}
        self.assertEqual(reached.pop("balancer"), {"front", "history"})
        for service in GATEWAYS:
            self.assertEqual(reached.pop(service), {"front", "history"})
        for service in HISTORY:
            self.assertEqual(reached.pop(service), {"history", "store", "events"})
        self.assertEqual(reached.pop(JOB), {"store", "events"})
        # Subscribers are outside.
        self.assertEqual(reached.pop("cascade"), {"store", "events", "outside"})
        stores = {"redis": {"store"}, "init": {"store"}, "cassandra": {"store"}, "mongodb": {"store"}, "kafka": {"events"}}
        self.assertEqual(reached, stores)
        open_ones = {name for name, said in self.file["networks"].items() if not said.get("internal")}
        self.assertEqual(open_ones, {"front", "outside"})

    def test_both_files_can_be_used_on_one_machine(self):
        """Not at a time, since the ports are the same, but one after the other."""
        subnets = [file["networks"]["front"]["ipam"]["config"][0]["subnet"] for file in (self.file, Smaller.file)]
        self.assertEqual(len(set(subnets)), 2)
        self.assertEqual(self.file["name"], "heartline-fleet")
