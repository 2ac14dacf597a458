"""Which rewards one user must have, by what was acked, and which the user was told of.

A beat that was written when it was no older than a minute has earned what it could. Of an acked beat it is known that
it, or a newer one of its slot, was written before the ack came; so one that was young enough then was when it was
written. Near midnight it cannot be told from outside which day it was, and nothing is demanded.
"""

from auditor.rules import AHEAD_MS, CONTENT_RULE, FRESH_MS, USER_RULE, day_of, id_of

SLACK_MS = 2_000  # between the clock of the server and that of the client at the ack


class Entitlement:
    def __init__(self, mid, fault):
        self._mid, self._fault = mid, fault
        self.due = set()  # ids of claims there must be
        self.told = set()  # ids of rewards that came over a socket
        self._flagged = {}  # day -> when it was first heard that all is decided

    def written(self, content, at, heard):
        """It is known, at the moment `heard`, that a beat of this `at` or a newer one was written."""
        if heard - at > FRESH_MS - SLACK_MS:
            return
        day = day_of(at - AHEAD_MS)
        if day == day_of(heard + SLACK_MS):
            self.due.add(id_of(USER_RULE, day, self._mid))
            self.due.add(id_of(CONTENT_RULE, day, self._mid, content))

    def rewarded(self, reward):
        content = (reward["kind"], int(reward["oid"])) if "kind" in reward else None
        if reward["id"] != id_of(reward["rule"], reward["day"], self._mid, content):
            self._fault("I5", f"a reward whose id says something else: {reward}")
        if (content is None) != (reward["rule"] == USER_RULE):
            self._fault("I5", f"a reward of another sort than its rule: {reward}")
        if reward["id"] in self.told:
            self._fault("I5", f"{reward['id']} was given twice")
        self.told.add(reward["id"])

    def flagged(self, day, heard):
        if day not in (day_of(heard - AHEAD_MS), day_of(heard + SLACK_MS)):
            return self._fault("flag", f"{day} is not the day at {heard}")
        self.due.add(id_of(USER_RULE, day, self._mid))
        self._flagged.setdefault(day, heard)

    def welcomed(self, welcome, dialed, heard):
        """`dialed`: when the connection was begun."""
        if "flag" in welcome:
            if welcome["flag"] != welcome["today"]:
                self._fault("flag", f"a welcome on {welcome['today']} has the flag {welcome['flag']}")
            self.flagged(welcome["flag"], heard)
        elif self._flagged.get(welcome["today"], heard) < dialed:
            self._fault("flag", f"a welcome has none, although all of {welcome['today']} is decided")
