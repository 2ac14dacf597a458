"""Ports of servers that come back: a crowd finds them where they were."""

import random
import socket
import sys


class KeptPort:
    """One that nobody else takes before it is given to its server; who asks there meanwhile is refused."""

    def __init__(self):
        self.number = quiet_port()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", self.number))

    def give(self):
        self._socket.close()


def quiet_port(dice=random):
    """A free one below those that the kernel gives to clients, one of which would have it while the server is down."""
    for port in dice.sample(range(10_000, 20_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    sys.exit("no free port between 10000 and 20000")
