"""The client of docs/examples/kotlin, and copies of it with one bug each, as commands."""

import os
from pathlib import Path

# Named after the rules that they break.
BUGS = sorted(patch.stem for patch in Path(__file__).with_name("kotlin").glob("*.patch"))


def client(url, workers):
    return _harness("conformance", url, workers)


def broken(rule, url):
    return _harness(f"faulty.{rule.replace('-', '_')}.conformance", url, 1)


def _harness(package, url, workers):
    made = os.environ["KOTLIN"]
    java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{made}/classes:{made}/lib/*"]
    return [*java, f"{package}.MainKt", url, str(workers)]
