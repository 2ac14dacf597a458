"""The real binary as a child process: started, watched for its one ready line, killed."""

import os
import re
import select
import signal
import subprocess
import time

from wire.patience import PATIENCE_SECONDS
from wire.tokens import CONTROL_TOKEN, KEY

READY = re.compile(
    rb"^heartline is listening on (https?://\S+) \(admin (http://\S+)\)\ncontrol listener: (http://\S+) .*\n", re.M
)


class StartFailed(Exception):
    """The process ended, or said nothing in time; carries what it wrote on stderr."""

    def __init__(self, code, stderr):
        super().__init__(f"exit code {code}: {stderr}")
        self.code, self.stderr = code, stderr


class Gateway:
    """One process at a time on one data directory; settings go by the environment."""

    words = ("serve",)  # of its command line
    ready_line = READY

    def __init__(self, binary, data_dir, log, before=(), **settings):
        self.binary, self.data_dir, self.log = str(binary), str(data_dir), str(log)
        self.before = list(before)  # a tracer, put before the binary
        self.settings = {
            "SERVER__LISTEN": "127.0.0.1:0",
            "ADMIN__LISTEN": "127.0.0.1:0",
            "CONTROL__LISTEN": "127.0.0.1:0",
            "CONTROL__TOKEN": CONTROL_TOKEN,
            "AUTH__HS256_SECRET": KEY,
            "STORE__DATA_DIR": self.data_dir,
            **settings,
        }
        self.process = None
        self.printed = ""  # until it served
        self.http = self.admin = self.control = None

    @property
    def name(self):
        """By which it is told from others."""
        return os.path.basename(self.data_dir)

    @property
    def ws(self):
        return self.http.replace("http", "ws", 1)

    def command(self):
        return [*self.before, self.binary, *self.words]

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HEARTLINE__")}
        return {**kept, **{f"HEARTLINE__{k}": str(v) for k, v in self.settings.items()}}

    def run(self, *words, seconds=PATIENCE_SECONDS):
        """What another command with the same settings prints, to its end."""
        return self.completed(*words, seconds=seconds).stdout

    def completed(self, *words, seconds=PATIENCE_SECONDS):
        """The same, with what it says on stderr."""
        done = subprocess.run(
            [self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
            env=self.environment(),
        )
        if done.returncode != 0:
            raise StartFailed(done.returncode, done.stderr)
        return done

    def spawn(self):
        """Starts the process and does not wait for it."""
        with open(self.log, "ab") as log:
            self._log_from = log.tell()
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self.environment(),
            )
        return self

    def start(self):
        """Starts the process and waits until it serves."""
        return self.spawn().wait_until_ready()

    def wait_until_ready(self):
        text, pipe = b"", self.process.stdout
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not (ready := self.ready_line.search(text)):
            readable, _, _ = select.select([pipe], [], [], max(0, give_up - time.monotonic()))
            chunk = os.read(pipe.fileno(), 4096) if readable else b""
            if not chunk:
                self.kill()
                raise StartFailed(self.process.returncode, self.stderr())
            text += chunk
        self.printed = text.decode()
        self.is_at(*(address.decode() for address in ready.groups()))
        return self

    def is_at(self, http, admin, control):
        """What the ready line says."""
        self.http, self.admin, self.control = http, admin, control

    def stderr(self):
        """What the present process has logged so far."""
        with open(self.log, errors="replace") as log:
            log.seek(self._log_from)
            return log.read()

    def kill(self):
        """SIGKILL, and reaped."""
        if self.process:
            self.process.kill()
            self._reap()

    def pause(self):
        """SIGSTOP: connections stay, without answers."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, seconds=PATIENCE_SECONDS):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds=PATIENCE_SECONDS):
        try:
            self.process.wait(seconds)
        finally:
            self.process.kill()
            self._reap()
        return self.process.returncode

    def ends_within(self, seconds):
        """Whether it ends by itself; it is not reaped."""
        give_up = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.05)
        return self.process.returncode is not None

    def _reap(self):
        self.process.wait()
        self.process.stdout.close()
