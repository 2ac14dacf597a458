"""An owner who follows positions and deletions of some contents, held to what was acked."""

import json

from subscriber_audit.viewers import contents_of
from wire.http import control
from wire.patience import all_come, until

TYPES = ["dev.heartline.position.v1", "dev.heartline.forgotten.v1"]
PATH = "/positions"
# The contents of this owner are watched and stay.
KEPT = 0


class Positions:
    def __init__(self, site, receiver, owners):
        self._site, self._receiver, self._owners = site, receiver, owners
        self._watched, self._deleted = set(), set()

    def start(self):
        """Before anything is watched."""
        body = {
            "url": self._receiver.url(PATH), "types": TYPES, "batch": 100,
            "filter": {"contents": [f"1:{content}" for content in contents_of(KEPT, self._owners)]},
        }
        until("the owner of positions is made", lambda: self._put(body) in (200, 201))

    def _put(self, body):
        return control(self._site.gateways[0], "PUT", "/v1/subscribers/positions", body).status

    def add(self, viewer):
        """What an ended viewer has got acked."""
        self._watched |= {
            f"{user}:1:{content}:{at * 1_000}" for user, content, at in viewer.watched if content % self._owners == KEPT
        }
        self._deleted |= set(viewer.deleted)

    def faults(self):
        """Waits for what is on its way."""
        all_come(lambda: sum(len(ids) for _, ids in self._missing(*self._told())))
        told, forgotten = self._told()
        faults = [("lost", f"{kind}: {len(ids)}, such as {sorted(ids)[:3]}") for kind, ids in self._missing(told, forgotten)]
        if strange := {one for one in told if int(one.split(":")[2]) % self._owners != KEPT}:
            faults.append(("strange", f"positions of other contents: {sorted(strange)[:3]}"))
        if not self._watched or not self._deleted:
            faults.append(("load", f"{len(self._watched)} positions and {len(self._deleted)} deletions were acked"))
        print(f"judged {len(self._watched)} positions and {len(self._deleted)} deletions", flush=True)
        return faults

    def _missing(self, told, forgotten):
        missing = [("positions", self._watched - told), ("deletions", self._deleted - forgotten)]
        return [(kind, ids) for kind, ids in missing if ids]

    def _told(self):
        """The ids of positions, and the users and contents of deletions."""
        events = [
            event for request in self._receiver.requests(PATH) if request.status == 200 for event in json.loads(request.body)
        ]
        positions = {event["id"] for event in events if event["type"] == TYPES[0]}
        forgotten = [event["data"] for event in events if event["type"] == TYPES[1]]
        items = {(int(data["mid"]), int(item["oid"])) for data in forgotten for item in data.get("items", ())}
        return positions, items
