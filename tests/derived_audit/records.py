"""Reads the records of users, as their clients do, and compares counters with them."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from wire.kept import Kept
from wire.patience import PATIENCE_SECONDS

READERS = 4
AGAIN_SECONDS = 0.2
KEYS_MAX, TOP_MAX = 500, 1_000
SHOWN_MAX = 5


def read_records(site, users):
    """All records, as (mid, record)."""
    users, gateways = sorted(users), site.gateways
    parts = [(gateways[n % len(gateways)], users[n::READERS]) for n in range(READERS)]
    with ThreadPoolExecutor(READERS) as readers:
        return [pair for found in readers.map(lambda part: _read_part(*part), parts) for pair in found]


def _read_part(gateway, users):
    kept, records = Kept(), []
    for mid in users:
        page = _answer(kept, gateway.http, "GET", "/v1/history?limit=200", mid)
        if "cursor" in page or page.get("partial"):
            raise RuntimeError(f"user {mid} has more records than are asked for")
        records += [(mid, record) for record in page["records"]]
    return records


def values(gateway, counter, keys):
    """By key."""
    kept, found = Kept(), {}
    for start in range(0, len(keys), KEYS_MAX):
        some = keys[start : start + KEYS_MAX]
        answer = _answer(kept, gateway.control, "POST", f"/v1/counters/{counter}/get", body={"keys": some})
        found |= dict(zip(some, answer["values"], strict=True))
    return found


def top(gateway, counter):
    """Keys and values in the order of the answer."""
    answer = _answer(Kept(), gateway.control, "GET", f"/v1/counters/{counter}/top?limit={TOP_MAX}")
    return [(tuple(entry["key"]), entry["value"]) for entry in answer["top"]]


def _answer(kept, base, method, path, mid=None, body=None):
    """What is refused for now is asked again."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        status, text = kept.ask(base, method, path, mid, body)
        if status == 200:
            return json.loads(text)
        if status not in (0, 503) or time.monotonic() > give_up:
            raise RuntimeError(f"{method} {path} is answered {status}: {text[:300]}")
        time.sleep(AGAIN_SECONDS)


def differences(site, definitions, users, records):
    """Counters that are not the sums of these records, in words. The records of the users are read to the end."""
    found = []
    for definition in definitions:
        expected = definition.sums(records)
        for gateway in site.gateways:
            found += _differences(gateway, definition, users, expected)
    return found


def _differences(gateway, definition, users, expected):
    highest = top(gateway, definition.id)
    wanted = set(expected)
    if definition.key == ("mid",):
        # More keys than `top` may name: those of users without a record must be 0.
        wanted |= {(str(mid),) for mid in users}
    got = values(gateway, definition.id, sorted(wanted))
    asked = {key: expected.get(key, 0) for key in wanted}
    unknown = {key: value for key, value in highest if expected.get(key) != value}
    wrong = {key: (value, asked[key]) for key, value in got.items() if value != asked[key]}
    sizes = [value for _, value in highest]
    largest = sorted(expected.values(), reverse=True)[:TOP_MAX]
    if not unknown and not wrong and sizes == largest:
        return []
    shown = f"values and what they should be: {dict(list(wrong.items())[:SHOWN_MAX])} of {len(wrong)}"
    named = f"top names {len(unknown)} others: {dict(list(unknown.items())[:SHOWN_MAX])}"
    return [f"{definition.id}, {len(expected)} keys in {gateway.data_dir}: {shown}; {named}; {len(sizes)} of {len(largest)}"]
