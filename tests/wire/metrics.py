"""What gateways count, and waiting until they have counted so many."""

import re
import time

from wire.http import call
from wire.patience import PATIENCE_SECONDS, until

# What was stored for the ack; a beat that repeats another one is acked without that.
_ACKED = re.compile(r'^heartline_beats_total\{outcome="(?:written|covered)"\} (\d+)$', re.M)
# None are on their way any more when none have come for so long.
STILL_SECONDS = 2.0


def metrics(gateway):
    return call(gateway.admin, "GET", "/metrics").text


def metric(gateway, name):
    """The value of one line of numbers, labels included."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", metrics(gateway), re.M)
    if found is None:
        raise RuntimeError(f"/metrics has no {name}")
    return float(found[1])


def acked(*gateways):
    """Beats that their present processes have stored and acked."""
    return sum(int(count) for gateway in gateways for count in _ACKED.findall(metrics(gateway)))


def wait_for_acks(count, *gateways, seconds=PATIENCE_SECONDS):
    """Until they have acked so many more beats than now."""
    enough = acked(*gateways) + count
    until(f"{count} more acks", lambda: acked(*gateways) >= enough, seconds)


def wait_until_no_acks(*gateways):
    """Until they ack no more."""
    known, since = acked(*gateways), time.monotonic()

    def are_still():
        nonlocal known, since
        if (now := acked(*gateways)) != known:
            known, since = now, time.monotonic()
        return time.monotonic() - since > STILL_SECONDS

    until("no more acks", are_still)
