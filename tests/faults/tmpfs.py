"""A small disk: a tmpfs that can be filled and made larger. To mount one takes root."""

import os
import subprocess
import sys

PAGE = os.sysconf("SC_PAGE_SIZE")


class Tmpfs:
    def __init__(self, path, size):
        path.mkdir()
        self.path, self.size = path, size
        self._filler = path / "somebody-else's"
        self._mount(f"size={size}")

    def grow(self, size):
        self.size += size
        self._mount(f"remount,size={self.size}")

    def fill(self):
        """Another file takes all space that is left."""
        with open(self._filler, "ab", buffering=0) as filler:
            try:
                while filler.write(bytes(PAGE)):
                    pass
            except OSError:
                pass

    def free(self):
        self._filler.unlink()

    def used(self):
        stat = os.statvfs(self.path)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize

    def unmount(self):
        subprocess.run(["umount", str(self.path)], check=True)

    def _mount(self, options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cannot mount a tmpfs ({done.stderr.strip()}); run as root: sudo tests/run disk")
