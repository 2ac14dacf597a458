"""What each owner has got, held to what was earned."""

import json


def received(receiver, owner):
    """The ids that owner has confirmed, in their order, the first time each."""
    ids = (json.loads(request.body)["id"] for request in receiver.requests(path_of(owner)) if request.status == 200)
    return list(dict.fromkeys(ids))


def path_of(owner):
    return f"/owner/{owner}"


def judge(received_of, owners, expected):
    """The faults. `received_of(owner)`: as of `received`. `expected`: (owner, id, user) in the order of each user."""
    faults, of_owner = [], {owner: [] for owner in range(owners)}
    for owner, event, user in expected:
        of_owner[owner].append((event, user))
    for owner, events in of_owner.items():
        got, wanted = received_of(owner), [event for event, _ in events]
        missing, strange = set(wanted) - set(got), set(got) - set(wanted)
        if missing:
            faults.append(("lost", f"owner {owner} lacks {len(missing)} of {len(wanted)} events, such as {sorted(missing)[:3]}"))
        if strange:
            faults.append(("strange", f"owner {owner} got {len(strange)} events of others, such as {sorted(strange)[:3]}"))
        faults += _judge_order(owner, got, events)
    if len({(owner, user) for owner, _, user in expected}) == len(expected):
        faults.append(("load", "no user has earned two events of one owner, so there is no order to judge"))
    return faults


def _judge_order(owner, got, events):
    """Events of one user come in the order in which they were earned."""
    place = {event: n for n, event in enumerate(got)}
    last = {}
    for event, user in events:
        if event not in place:
            continue
        if place[event] < last.get(user, -1):
            return [("order", f"owner {owner}: {event} came before one that was earned earlier")]
        last[user] = place[event]
    return []
