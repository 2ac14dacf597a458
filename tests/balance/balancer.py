"""HAProxy as a child process, with the configuration that is deployed."""

import os
import re
import subprocess
from pathlib import Path

from wire.http import call
from wire.patience import until

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
SERVER_STATUS = re.compile(r'^haproxy_server_status\{proxy="gateways",server="([^"]+)",state="([^"]+)"\} 1$', re.M)
# HAProxy connects from here, whatever it listens on.
PROXY_ADDRESS = "127.0.0.1/32"
# What a gateway behind it is told.
BEHIND = {"SERVER__PROXY_PROTOCOL": "true", "SERVER__TRUSTED_PROXIES": f'["{PROXY_ADDRESS}"]'}


class Balancer:
    """In front of two gateways that have fixed ports, and need not run yet."""

    def __init__(self, listen, status, gateways, log, configuration=CONFIGURATION, demo=False):
        """`gateways` are (host:port of the public listener, port of the admin listener) by the server's name."""
        self.http, self.status = f"http://{listen}", f"http://{status}"
        self.configuration, self.log = configuration, log
        self._settings = {"LB_LISTEN": listen, "LB_STATUS": status, "LB_DEMO": "on" if demo else "off"}
        for number, (listener, admin_port) in enumerate(gateways, 1):
            self._settings |= {f"GATEWAY_{number}": listener, f"GATEWAY_{number}_ADMIN_PORT": str(admin_port)}
        self._names = [f"gateway-{number}" for number in range(1, len(gateways) + 1)]
        self.process = None

    @property
    def ws(self):
        return self.http.replace("http", "ws", 1)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["haproxy", "-db", "-f", str(self.configuration)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._settings},
            )
        self.wait_until(*self._names)
        return self

    def wait_until(self, *ready):
        """Until just these gateways get new connections."""

        def are_just_these():
            if self.process.poll() is not None:
                raise RuntimeError(f"HAProxy has ended; see {self.log}")
            return self.ready() == set(ready)

        until(f"ready for HAProxy are {ready}; see {self.log}", are_just_these)

    def ready(self):
        """The names of the gateways that get new connections; None while HAProxy does not answer."""
        try:
            metrics = call(self.status, "GET", "/metrics").text
        except OSError:
            return None
        return {name for name, state in SERVER_STATUS.findall(metrics) if state == "UP"}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
