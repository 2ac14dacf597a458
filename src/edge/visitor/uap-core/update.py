"""Takes over the parsers of browsers and operating systems of a regexes.yaml, and the names that they give.

A parser without a name of its own gives what its first group matches. Where that is one of a few texts, these are names;
where it can be any text, it is none, so that no client makes up a name.
"""

import itertools
import json
import re._parser as regex
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).parent
NAMES = HERE.parents[2] / "model" / "visitor"
KINDS = {
    "user_agent_parsers": ("family_replacement", "browsers.txt"),
    "os_parsers": ("os_replacement", "systems.txt"),
}
# The name of an unknown one, and one that stands for others in an example.
NO_NAMES = {"", "Other", "foobar"}
# Texts that one group may match.
TEXTS_MAX = 200


def texts(parsed):
    """All texts that a part of a regex matches; None: too many."""
    found = [""]
    for operation, argument in parsed:
        options = texts_of_one(str(operation), argument)
        if options is None or len(found) * len(options) > TEXTS_MAX:
            return None
        found = [start + end for start, end in itertools.product(found, options)]
    return found


def texts_of_one(operation, argument):
    if operation == "LITERAL":
        return [chr(argument)]
    if operation == "AT":
        return [""]
    if operation == "SUBPATTERN":
        return texts(argument[3])
    if operation == "BRANCH":
        branches = [texts(branch) for branch in argument[1]]
        return None if None in branches else [text for branch in branches for text in branch]
    if operation == "IN":
        letters = all(str(kind) == "LITERAL" for kind, _ in argument)
        return [chr(letter) for _, letter in argument] if letters else None
    if operation in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, repeated = argument
        once = texts(repeated) if most <= 2 else None
        if once is None:
            return None
        counts = range(least, most + 1)
        return ["".join(parts) for count in counts for parts in itertools.product(once, repeat=count)]
    return None


def first_group(parsed):
    for operation, argument in parsed:
        parts = {"SUBPATTERN": lambda: [argument[3]], "BRANCH": lambda: argument[1]}
        parts |= dict.fromkeys(("MAX_REPEAT", "MIN_REPEAT"), lambda: [argument[2]])
        if str(operation) == "SUBPATTERN" and argument[0] == 1:
            return argument[3]
        for part in parts.get(str(operation), list)():
            group = first_group(part)
            if group is not None:
                return group
    return None


def names(parsers, replacement):
    found = set()
    for parser in parsers:
        name = parser.get(replacement, "$1")
        if "$" not in name:
            found.add(name)
            continue
        group = first_group(regex.parse(parser["regex"]))
        found |= {name.replace("$1", text).strip() for text in (texts(group) if group else None) or []}
    return sorted(found - NO_NAMES, key=str.encode)


def main(source):
    parsers = yaml.safe_load(Path(source).read_text())
    lists = []
    for kind, (replacement, file) in KINDS.items():
        (NAMES / file).write_text("\n".join(names(parsers[kind], replacement)) + "\n")
        lines = ",\n".join(json.dumps(parser, ensure_ascii=False) for parser in parsers[kind])
        lists.append(f"{json.dumps(kind)}: [\n{lines}\n]")
    (HERE / "regexes.json").write_text("{\n" + ",\n".join(lists) + "\n}\n")


main(*sys.argv[1:])
