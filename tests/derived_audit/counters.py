"""Definitions of counters, and what each must be for the records that clients read."""

import json
from collections import defaultdict
from dataclasses import dataclass, field

ENDED_ONLY_KINDS = (2, 3)


@dataclass(frozen=True)
class Definition:
    """`when`: lists of values by field, and `finished`. `value`: 1, or the field that is summed up."""

    id: str
    key: tuple
    when: dict = field(default_factory=dict)
    value: object = 1

    def setting(self):
        """As a setting has it."""
        when = ", ".join(f"{name} = {json.dumps(values)}" for name, values in self.when.items())
        key, value = json.dumps(list(self.key)), json.dumps(self.value)
        return f'{{ id = "{self.id}", key = {key}, when = {{ {when} }}, value = {value} }}'

    def sums(self, records):
        """By key, of (mid, record); without zeros."""
        sums = defaultdict(int)
        for mid, record in records:
            if self._counts(record):
                key = tuple(str(mid if name == "mid" else record[name]) for name in self.key)
                sums[key] += 1 if self.value == 1 else record.get(self.value, 0)
        return {key: value for key, value in sums.items() if value != 0}

    def _counts(self, record):
        if "device" in self.key and not record.get("device"):
            return False
        for name, wanted in self.when.items():
            if name == "finished":
                if _is_finished(record) != wanted:
                    return False
            elif record.get(name, "") not in wanted:
                return False
        return True


def settings(definitions):
    return {"COUNTERS__DERIVED": f"[{', '.join(definition.setting() for definition in definitions)}]"}


def _is_finished(record):
    """As it is without settings: ended, or at least 90 % of a known length; live streams and articles only when ended."""
    if record["state"] == "ended" or record["kind"] in ENDED_ONLY_KINDS:
        return record["state"] == "ended"
    return 0 < 9 * record.get("dur", 0) <= 10 * record["pos"]


_FINISHERS = Definition("finishers", ("kind", "oid"), {"finished": True})
_DEVICES = Definition("devices", ("state", "device"), {"kind": [1, 2], "state": ["playing", "paused"]})
_PLACES = Definition("places", (), value="pos")
AT_FIRST = [
    Definition("viewers", ("kind", "oid")),
    _FINISHERS,
    Definition("in-progress", ("mid",), {"finished": False}),
    Definition("watched", ("kind",), value="watched"),
    _DEVICES,
    _PLACES,
]
# Two have changed, `watched` is gone, and `states` is new.
LATER = [
    Definition("viewers", ("kind", "oid"), {"kind": [1, 3], "device": ["tv", ""]}),
    _FINISHERS,
    Definition("in-progress", ("mid",), {"finished": True}, value="dur"),
    _DEVICES,
    _PLACES,
    Definition("states", ("mid", "state")),
]
