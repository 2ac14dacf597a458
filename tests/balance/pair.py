"""Two gateways behind HAProxy, told apart by a limit in their welcomes."""

import json

from websockets.asyncio.client import connect

from balance.balancer import BEHIND, CONFIGURATION, Balancer
from balance.started import Started
from wire.dial import OPTIONS, SUBPROTOCOL
from wire.gateway import Gateway
from wire.ports import quiet_port

# `limits.list` of each gateway.
MARKS = {101: "gateway-1", 102: "gateway-2"}


class Pair(Started):
    """They run within a `with`. `begin` is called with the directory for all, before they start; it returns settings of
    both, and a function that ends what it has started."""

    def __init__(self, binary, configuration=CONFIGURATION, begin=None, demo=False, **settings):
        self._binary, self._configuration, self._begin = binary, configuration, begin
        self._demo, self._settings = demo, settings
        if demo:
            self._settings["DEMO__ISSUE_TOKENS_FOR_ANY_USER_WITH_THE_REAL_KEY"] = "true"
        self.gateways = {}

    def _start(self):
        shared = {}
        if self._begin:
            shared, end = self._begin(self.scratch)
            self._ends.append(end)
        places = []
        for mark, name in MARKS.items():
            listen, admin = f"127.0.0.1:{quiet_port()}", f"127.0.0.1:{quiet_port()}"
            places.append((listen, admin.rpartition(":")[2]))
            gateway = Gateway(
                self._binary,
                self.scratch / name,
                self.scratch / f"{name}.log",
                **{"SERVER__LISTEN": listen, "ADMIN__LISTEN": admin, "LIMITS__LIST": mark, **BEHIND},
                **shared,
                **self._settings,
            )
            self._ends.append(gateway.kill)
            self.gateways[name] = gateway.start()
        listen, status = f"127.0.0.1:{quiet_port()}", f"127.0.0.1:{quiet_port()}"
        log = self.scratch / "haproxy.log"
        self.balancer = Balancer(listen, status, places, log, self._configuration, self._demo)
        self._ends.append(self.balancer.stop)
        self.balancer.start()

    async def open(self, address, headers=(), offered=(SUBPROTOCOL,), hello=None):
        """A socket from this address through HAProxy, its welcome, and the gateway that it came from."""
        socket = await connect(
            f"{self.balancer.ws}/v1/connect",
            additional_headers=dict(headers),
            subprotocols=list(offered),
            local_addr=(address, 0),
            **OPTIONS,
        )
        try:
            if hello:
                await socket.send(json.dumps({"seq": 1, "hello": {"token": hello}}))
            welcome = json.loads(await socket.recv())["welcome"]
        except BaseException:
            socket.transport.abort()
            raise
        return socket, welcome, MARKS[welcome["limits"]["list"]]


def expect(holds, fault):
    if not holds:
        raise AssertionError(fault)


def address_of(number, block=10):
    """A source address of this machine for each client."""
    return f"127.{block}.{number // 200}.{number % 200 + 1}"
