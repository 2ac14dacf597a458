"""The image without Docker: its files, put together in a folder by the Dockerfile's own commands, and a process in it."""

import os
import re
import shutil
import subprocess

from deploy.compose_file import image_settings
from deploy.files import BINARY, ROOT
from wire.gateway import Gateway
from wire.tokens import KEY

# What the image is probed on, by its settings.
PROBES = "HEARTLINE__ADMIN__LISTEN"


def build(folder):
    """Fills the folder with what is in the image. The program is that of the tests."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    shutil.copy(BINARY, folder / "heartline")
    for command in re.findall(r"^RUN (.*)$", text, re.M):
        if "cargo build" not in command:
            subprocess.run(["bash", "-euo", "pipefail", "-c", command.replace("/image", str(folder))], check=True)
    folder.chmod(0o755)


class Contained(Gateway):
    """A process that sees nothing but these files, with the settings of the image, as a user and groups of its own."""

    def __init__(self, tree, log, user, group, **settings):
        super().__init__(BINARY, tree / "var/lib/heartline", log, **settings)
        self._chroot = [shutil.which("chroot"), f"--userspec={user}:{group}", "--groups=", str(tree)]

    def command(self):
        return [*self._chroot, "/heartline", *self.words]

    def environment(self):
        """Nothing of this machine's. Ports are chosen anew, for other programs may have those of the image."""
        own = {name: re.sub(r":\d+$", ":0", value) for name, value in image_settings().items()}
        given = {f"HEARTLINE__{name}": str(value) for name, value in self.settings.items()}
        for name in ("SERVER__LISTEN", "ADMIN__LISTEN", "STORE__DATA_DIR"):
            given.pop(f"HEARTLINE__{name}")
        return {**own, **given, "HEARTLINE__AUTH__HS256_SECRET": KEY}


def needs_root(test):
    if os.geteuid() != 0:
        test.fail("must be root to change the root directory; run: sudo tests/run deploy")


def empty(folder):
    """Removes what was written, and leaves the data directory itself, with its owner."""
    for path in (folder / "var/lib/heartline").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
