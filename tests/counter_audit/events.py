"""The events of all gateways, by their ids."""

from collections import Counter

from wire.http import control

PAGE = 1_000


def events_of(gateways, faults):
    """An event that is there twice is the same both times. What one gateway alone publishes is in its order."""
    events, counts = {}, Counter()
    for gateway in gateways:
        after = 0
        while page := _page(gateway, after):
            after = page[-1]["offset"]
            for event in (entry["event"] for entry in page):
                if (known := events.get(event["id"])) is None:
                    events[event["id"]] = event
                    counts[_threshold(event)] += 1
                    if len(gateways) == 1 and not event["id"].endswith(f":{counts[_threshold(event)]}"):
                        faults.append(("events", f"{event['id']} comes as number {counts[_threshold(event)]}"))
                elif known != event:
                    faults.append(("events", f"{event} and {known} have one id"))
    return events


def _page(gateway, after):
    return control(gateway, "GET", f"/v1/events?after={after}&limit={PAGE}").json()["events"]


def _threshold(event):
    return event["subject"], event["data"]["threshold"]
