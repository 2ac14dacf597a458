"""The load: 10,000 users with a socket each."""

import json
import subprocess

from wire.tokens import KEY

USERS = 10_000


def run(binary, urls, pids, rate, warm_up, seconds, new_contents):
    """What loadgen reports. `pids`: process ids, by the name under which their processor time is reported."""
    command = [binary.with_name("loadgen"), "--secret", KEY, "--sockets", USERS, "--rate", rate]
    command += ["--warm-up", f"{warm_up}s", "--duration", f"{seconds}s", "--new-contents", new_contents]
    command += [word for url in urls for word in ("--url", url)]
    command += [word for name, pid in pids for word in ("--pid", f"{name}={pid}")]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    if report["acked"] != report["intended"] or report["closes"]:
        raise RuntimeError(f"the load was not served: {report}")
    return report
