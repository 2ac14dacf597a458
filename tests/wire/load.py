"""The load of loadgen: users with a socket each."""

import json
import resource
import subprocess

from wire.tokens import KEY

USERS = 10_000


def allow_sockets():
    """As many as the machine lets a process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(binary, urls, pids, rate, warm_up, seconds, new_contents=0, users=USERS):
    """What loadgen reports. `pids`: process ids, by the name under which their processor time is reported."""
    command = [binary.with_name("loadgen"), "--secret", KEY, "--sockets", users, "--rate", rate]
    command += ["--warm-up", f"{warm_up}s", "--duration", f"{seconds}s", "--new-contents", new_contents]
    command += [word for url in urls for word in ("--url", url)]
    command += [word for name, pid in pids for word in ("--pid", f"{name}={pid}")]
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    if report["acked"] != report["intended"] or report["closes"]:
        raise RuntimeError(f"the load was not served: {report}")
    return report
