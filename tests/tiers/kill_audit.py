"""The command line of an audit under load, in rounds: most of them kill what serves."""

import argparse
import random
import sys
from pathlib import Path

from auditor.audit import FAULTS_SHOWN_MAX, scratch_directory


def kill_audit_parser(module, about, rounds, sites=None):
    """With what such audits have in common. `sites`: by name, if there is a choice."""
    parser = argparse.ArgumentParser(prog=module, description=about)
    parser.add_argument("binary", type=Path)
    if sites:
        parser.add_argument("--store", choices=sorted(sites), default="embedded")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the journal, the logs and the data")
    return parser


def run_kill_audit(args, site_of, audit):
    """`site_of(binary, scratch)` is ended whatever happens; `audit(scratch, site)` returns the faults. Exit code 1 if any."""
    with scratch_directory(args) as scratch:
        site = site_of(args.binary, scratch)
        try:
            faults = audit(scratch, site)
        finally:
            site.end()
    for promise, text in faults[:FAULTS_SHOWN_MAX]:
        print(f"FAULT {promise}: {text}")
    sys.exit(1 if faults else 0)
