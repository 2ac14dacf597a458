"""What is rewarded while the auditor looks: by the first beat, and exactly, so that it can be told who was to be."""

import datetime

USER_RULE = "first-of-day"
CONTENT_RULE = "first-view"
ZONE = "UTC"

_RULE = '{{ id = "{}", per = "{}", kinds = [], watched = "0s", exact = true }}'

# Settings of a gateway, as the environment has them.
SETTINGS = {
    "REWARDS__ZONE": ZONE,
    "REWARDS__RULES": f"[{_RULE.format(USER_RULE, 'user')}, {_RULE.format(CONTENT_RULE, 'content')}]",
}

FRESH_MS = 60_000  # older beats are not rewarded
AHEAD_MS = 5_000  # newer ones are not taken


def day_of(ms):
    """The reward day of a moment of the server's clock."""
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).date().isoformat()


def id_of(rule, day, mid, content=None):
    """The id of the claim and of all its events."""
    return ":".join(map(str, (rule, day, mid, *(content or ()))))
