"""Recounts, which must find nothing."""

import json
import re

from wire.http import control
from wire.metrics import metrics
from wire.patience import until

# All records are looked at while users go on: on Redis, 20,000 took more than two minutes of a slow machine.
RECOUNTED_SECONDS = 480

_DIFFERENCES = re.compile(r"^heartline_counter_differences_total (\d+)$", re.M)


def begin(gateway, counter, keys=()):
    """The name of the job."""
    answer = control(gateway, "POST", f"/v1/counters/{counter}/recount", {"keys": list(keys)} if keys else {})
    if answer.status != 202:
        raise RuntimeError(f"a recount of {counter} is answered {answer.status}: {answer.text}")
    return answer.json()["job"]


def ended(gateway, job):
    """The job, when it has ended."""

    def look():
        answer = control(gateway, "GET", f"/v1/jobs/{job}")
        if answer.status == 503:
            return None
        if answer.status != 200:
            raise RuntimeError(f"the recount {job} is answered {answer.status}: {answer.text}")
        found = json.loads(answer.text)
        return found if found["state"] != "running" else None

    return until(f"the end of the recount {job}", look, RECOUNTED_SECONDS, every=0.05)


def differences_found(site):
    """Of all recounts of the present processes."""
    return sum(int(count) for gateway in site.gateways for count in _DIFFERENCES.findall(metrics(gateway)))
