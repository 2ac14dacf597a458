"""Dockerfile and .dockerignore: what is copied is there and is all that the build takes, and what is built runs alone."""

import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from fnmatch import fnmatch
from pathlib import Path

from deploy.files import ROOT
from wire.patience import PATIENCE_SECONDS


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (ROOT / "Dockerfile").read_text()
        cls.lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]

    def instructions(self, name):
        return [line.split(None, 1)[1] for line in self.lines if line.startswith(f"{name} ")]

    def copied(self):
        """What is taken from the tree."""
        copies = (line.split() for line in self.instructions("COPY") if "--from" not in line)
        return [source for words in copies for source in words[:-1]]

    def test_copied_files_exist_and_are_not_ignored(self):
        sources = self.copied()
        self.assertIn("src", sources)
        for source in sources:
            self.assertTrue((ROOT / source).exists(), source)
            self.assertTrue(any(fnmatch(source, kept) for kept in kept_paths()), f"{source} is ignored")

    def test_the_example_keeps_the_data_in_a_named_volume(self):
        [place] = self.instructions("VOLUME")
        head = (ROOT / "Dockerfile").read_text().split("FROM")[0]
        self.assertRegex(head, rf"docker run [^#]*\\\n#[^#]*--volume [a-z-]+:{place} ")

    def test_the_build_context_has_only_copied_files(self):
        self.assertEqual(sorted(kept_paths()), sorted(self.copied()))

    def test_the_build_context_has_all_files_that_cargo_reads(self):
        """Each target and each file that the code takes in; the build itself would take minutes."""
        with tempfile.TemporaryDirectory() as scratch:
            context = Path(scratch)
            for source in self.copied():
                (context / source).parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, context / source)
            plan = ["cargo", "tree", "--locked", "--offline", "--package", "heartline", "--depth", "0"]
            read = subprocess.run(plan, cwd=context, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual(read.returncode, 0, read.stderr)
            benches = tomllib.loads((context / "Cargo.toml").read_text()).get("bench", [])
            for bench in benches:
                self.assertTrue((context / bench.get("path", f"benches/{bench['name']}.rs")).exists(), bench)
            taken = [(path, name) for path in (context / "src").rglob("*.rs") for name in taken_in(path)]
            self.assertTrue(taken, "the defaults are compiled in")
            for path, name in taken:
                self.assertTrue((path.parent / name).exists(), f"{path.relative_to(context)} takes in {name}")

    def test_the_image_is_built_without_what_only_the_load_generator_needs(self):
        plan = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--edges", "normal"]
        for packages, needed in ([], False), (["--workspace"], True):
            read = subprocess.run([*plan, *packages], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual("hdrhistogram" in read.stdout, needed, read.stderr)
        self.assertNotIn("--workspace", (ROOT / "Dockerfile").read_text())

    def test_the_compiler_has_the_version_of_the_package(self):
        wanted = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
        build, last = self.instructions("FROM")
        self.assertRegex(build, rf"^rust:{re.escape(wanted)}-")
        self.assertEqual(last, "scratch")

    def test_the_image_runs_as_a_user_without_privileges(self):
        [user] = self.instructions("USER")
        self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")
        owners = [line for line in self.instructions("COPY") if "--chown" in line]
        self.assertEqual(len(owners), 1)
        # Group 0 may write, as test_image_runs.py shows.
        self.assertIn(f"--chown={user.split(':')[0]}:0 ", owners[0])
        self.assertTrue(owners[0].endswith(self.instructions("VOLUME")[0]))


def taken_in(path):
    """The files that the code in `path` takes in, from its folder; what only its tests do is no part of the image."""
    code = path.read_text().split("#[cfg(test)]")[0]
    return re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', code)


def kept_paths():
    """What .dockerignore lets through: all is ignored, but for these."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines[0] != "*":
        raise AssertionError(".dockerignore begins with what is ignored, which is everything")
    return [line.removeprefix("!") for line in lines[1:]]
