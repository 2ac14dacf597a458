"""What the others feel while one owner hangs and another gets a hundred times as much as each of them."""

import time

from subscriber_cost.pace import send
from subscriber_cost.sides import event
from subscriber_load.judge import quantile

HANGING, FLOODED, OTHERS_FROM = 0, 1, 2
FLOOD = 100
SHARE = 0.99


def beside_neighbours(side, receiver, args, numbers):
    """The p99 of the others' ages, in seconds: quiet, and beside the two."""
    quiet = p99(side, receiver, others(args, numbers), args.rate)
    receiver.behave(HANGING, hang=True)
    # The others get theirs as fast as before.
    events = with_both(args, numbers)
    beside = p99(side, receiver, events, args.rate * len(events) / (args.events * (args.owners - OTHERS_FROM)))
    receiver.behave(HANGING)
    return quiet, beside


def others(args, numbers):
    return [_of(owner, numbers) for _ in range(args.events) for owner in range(OTHERS_FROM, args.owners)]


def with_both(args, numbers):
    """The same, with the flood spread evenly among them."""
    events = []
    for _ in range(args.events):
        for place, owner in enumerate(range(OTHERS_FROM, args.owners)):
            events.append(_of(owner, numbers))
            if place % max(1, args.owners // FLOOD) == 0:
                events.append(_of(FLOODED, numbers))
        events.append(_of(HANGING, numbers))
    return events


def p99(side, receiver, events, rate):
    sent, first = {}, len(receiver.arrivals)
    for part in send(side, events, rate):
        sent |= dict.fromkeys((one["id"] for _, one in part), time.monotonic())
    wanted = {one["id"] for owner, one in events if int(owner) != HANGING}
    if not receiver.wait_for(wanted):
        raise RuntimeError(f"events of {side.name} do not come")
    came = {arrival.event: arrival.at for arrival in receiver.arrivals[first:] if arrival.owner >= OTHERS_FROM}
    return quantile([at - sent[name] for name, at in came.items() if name in sent], SHARE)


def _of(owner, numbers):
    return str(owner), event(next(numbers), owner)
