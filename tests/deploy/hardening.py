"""What keeps a service of a compose file from harming the others, the machine and its secrets: holds for every one."""

# The users of images that would start as root, for what needs no root.
USERS = {"redis": "redis", "cassandra": "cassandra", "mongo": "mongodb"}
# Images that name a user of their own.
HAVE_A_USER = {"heartline", "haproxy", "apache/kafka"}


class Hardening:
    """With `TestCase` and what it reads of a file: tests of every service."""

    def test_no_service_has_or_gains_a_privilege(self):
        for name, service in self.services.items():
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertNotIn("cap_add", service, name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)
            image = service["image"].split(":")[0]
            self.assertEqual(service.get("user"), USERS.get(image), name)
            self.assertIn(image, {*USERS, *HAVE_A_USER})

    def test_no_service_can_take_all_of_the_machine(self):
        """Memory has tests of its own."""
        for name, service in self.services.items():
            self.assertGreater(service["cpus"], 0, name)
            self.assertLessEqual(service["cpus"], 2, name)
            self.assertGreater(service["pids_limit"], 0, name)
            self.assertLessEqual(service["pids_limit"], 1_000, name)
            logging = service["logging"]
            self.assertEqual(logging["driver"], "json-file", name)
            self.assertRegex(logging["options"]["max-size"], r"^\d{1,2}m$", name)
            self.assertRegex(logging["options"]["max-file"], r"^[2-9]$", name)

    def test_no_secret_is_in_an_argument(self):
        """They are in the environment: whoever may look at processes reads arguments."""
        for name, service in self.services.items():
            words = [*service.get("entrypoint", []), *service.get("command", []), *service["healthcheck"].get("test", [])]
            for word in words:
                # A shell of the container puts in what is escaped.
                self.assertNotIn("$", word.replace("$$", ""), f"{name}: {word}")
