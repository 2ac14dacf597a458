"""Reads what `strace -f -yy` wrote as one sequence of begun and ended calls.

A thread is stopped when a call begins and when it ends, so whatever one call causes in another thread stands below
it in the trace; that order, not the clock, is what is judged.
"""

import codecs
import re
from dataclasses import dataclass

CALLS = "read,readv,recvfrom,recvmsg,write,writev,pwrite64,pwritev,sendto,sendmsg,fdatasync,fsync"
READS = {"read", "readv", "recvfrom", "recvmsg"}
WRITES = {"write", "writev", "pwrite64", "pwritev", "sendto", "sendmsg"}
SYNCS = {"fdatasync", "fsync"}

_LINE = re.compile(r"^(?P<pid>\d+) +[\d:.]+ (?P<rest>.*)$")
_BEGUN = re.compile(r"^(?P<call>\w+)\(\d+<(?P<file>.*?[^-])>(?P<text>[,)\s].*)$")
_RESUMED = re.compile(r"^<\.\.\. (?P<call>\w+) resumed>(?P<text>.*)$")
_UNFINISHED = "<unfinished ...>"
_RESULT = re.compile(r"= (-?\d+)[^=]*$")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass
class Call:
    name: str
    file: str  # the path, or both ends of the socket
    text: str
    begun: int
    ended: int | None = None
    failed: bool = False

    def data(self):
        """The bytes it read or wrote."""
        return b"".join(codecs.escape_decode(text)[0] for text in _STRING.findall(self.text))


def read_trace(lines):
    """All calls on descriptors, in the order in which they began; `begun` and `ended` are line numbers."""
    calls, pending = [], {}
    for number, line in enumerate(lines):
        if not (found := _LINE.match(line)):
            continue
        pid, rest = found["pid"], found["rest"]
        if resumed := _RESUMED.match(rest):
            if call := pending.pop(pid, None):
                _end(call, resumed["text"], number)
        elif begun := _BEGUN.match(rest):
            call = Call(begun["call"], begun["file"], "", number)
            calls.append(call)
            if begun["text"].rstrip().endswith(_UNFINISHED):
                call.text = begun["text"]
                pending[pid] = call
            else:
                _end(call, begun["text"], number)
    return calls


def _end(call, text, number):
    result = _RESULT.search(text)
    call.text += text
    call.ended = number
    call.failed = result is None or int(result[1]) < 0
