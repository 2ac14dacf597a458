"""A DNS server on loopback, which tells of each name what a test gives it, in turn."""

import ipaddress
import socket
import threading

A, CNAME, AAAA = 1, 5, 28
NO_SUCH_NAME = 3


class Names:
    def __init__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        self._turns, self.asked = {}, []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def tell(self, name, *turns):
        """One of these for each question; the last one is told from then on. Nothing may be cached.

        Each is an address, another name that this one stands for, a list of them, or None: no answer at all."""
        self._turns[name] = [turn if isinstance(turn, list | None) else [turn] for turn in turns]

    def end(self):
        # An empty one is no question.
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while (received := self._socket.recvfrom(4_096))[0]:
            question, asker = received
            if (answer := self._answer(question)) is not None:
                self._socket.sendto(answer, asker)

    def _answer(self, question):
        end = question.index(0, 12) + 1
        name, kind = _name(question[12:end]), int.from_bytes(question[end : end + 2])
        if name not in self._turns:
            return _head(question, NO_SUCH_NAME, 0) + question[12 : end + 4]
        turns = self._turns[name]
        turn = turns[0]
        # A look-up asks for IPv4 and IPv6 at once: that is one turn.
        if kind == A:
            self.asked.append((name, turn))
            self._turns[name] = turns[1:] or turns
        if turn is None:
            return None
        records = [record for has, record in map(_record, turn) if has in (kind, CNAME)]
        return _head(question, 0, len(records)) + question[12 : end + 4] + b"".join(records)


def _name(encoded):
    labels, at = [], 0
    while encoded[at]:
        labels.append(encoded[at + 1 : at + 1 + encoded[at]].decode().lower())
        at += 1 + encoded[at]
    return ".".join(labels)


def _head(question, code, answers):
    flags = 0x8180 | code
    return question[:2] + b"".join(number.to_bytes(2) for number in (flags, 1, answers, 0, 0))


def _record(value):
    """Its type, and the record of the name that was asked for."""
    try:
        address = ipaddress.ip_address(value)
        kind, data = (A if address.version == 4 else AAAA), address.packed
    except ValueError:
        labels = [label.encode() for label in value.split(".")]
        kind, data = CNAME, b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    # The name is that of the question; class IN, no time to live.
    return kind, b"\xc0\x0c" + kind.to_bytes(2) + b"\0\x01" + bytes(4) + len(data).to_bytes(2) + data
