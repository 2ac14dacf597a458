"""What users read through a gateway is what they did, whether it is in Redis or has left it."""

import json

from history.habits import wall_ms
from wire.http import call

PAGE = 7  # so that the lists of most users have several pages
FIELDS = ("at", "session", "pos", "dur", "state", "device", "watched")
STATES = (None, "playing", "paused", "seeked", "ended")


def judge(part, mids):
    """Lists and gets all of each user, of one half of them through each gateway."""
    gateways = part.scene.gateways
    for mid, known in part.crowd.known(mids).items():
        gateway = gateways[mid // 2 % len(gateways)]
        expected = {content: _told(row.record) for content, row in known.as_of(known.least).items() if row.record}
        listed = _listed(part, gateway, mid)
        part.expect(listed == expected, "list", f"user {mid}: listed is {listed}, not {expected}")
        contents = sorted(known.rows)
        got = _got(part, gateway, mid, contents)
        wanted = {content: expected.get(content) for content in contents}
        part.expect(got == wanted, "get", f"user {mid} at {wall_ms()}: got {got}, not {wanted}")


def _listed(part, gateway, mid):
    listed, cursor, before = {}, "", None
    while True:
        path = f"/v1/history?limit={PAGE}" + (f"&cursor={cursor}" if cursor else "")
        page = _answered(part, call(gateway.http, "GET", path, mid), mid)
        for record in page["records"]:
            place = record["at"], record["kind"], int(record["oid"])
            part.expect(before is None or place < before, "list", f"user {mid}: {place} after {before}")
            before = place
            listed[_content(record)] = _shown(record)
        cursor = page.get("cursor")
        if not cursor:
            return listed


def _got(part, gateway, mid, contents):
    if not contents:
        return {}
    items = [{"kind": kind, "oid": str(oid)} for kind, oid in contents]
    answer = _answered(part, call(gateway.http, "POST", "/v1/history/get", mid, {"items": items}), mid)
    return {content: record and _shown(record) for content, record in zip(contents, answer["records"])}


def _answered(part, answer, mid):
    part.expect(answer.status == 200, "reads", f"user {mid}: {answer.status} {answer.text}")
    said = json.loads(answer.text)
    part.expect(not said.get("partial"), "reads", f"user {mid}: an answer is partial")
    return said if answer.status == 200 else {"records": []}


def _content(record):
    return record["kind"], int(record["oid"])


def _shown(record):
    return tuple(record.get(field) for field in FIELDS)


def _told(record):
    fields = record._asdict() | {"session": str(record.session), "state": STATES[record.state]}
    return tuple(fields[field] for field in FIELDS)
