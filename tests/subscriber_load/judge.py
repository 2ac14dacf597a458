"""What each owner has got, held to what was earned."""

from collections import defaultdict

from subscriber_audit.judge import judge as judge_received


def judge(earned, arrivals, owners):
    """The faults. `earned`: in the order of each user; `arrivals`: in the order of each owner."""
    came, confirmed = defaultdict(dict), defaultdict(dict)
    for arrival in arrivals:
        came[arrival.owner][arrival.event] = None
        if arrival.status == 200:
            confirmed[arrival.owner][arrival.event] = None
    expected = [(one.owner, one.event, one.user) for one in earned]
    # What came and failed is not there, but it must not come to another, nor before an earlier one.
    of_confirmed = judge_received(lambda owner: list(confirmed[owner]), owners, expected)
    of_all = judge_received(lambda owner: list(came[owner]), owners, expected)
    faults = [fault for fault in of_confirmed if fault[0] != "strange"]
    return faults + [fault for fault in of_all if fault[0] in ("strange", "order") and fault not in faults]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
