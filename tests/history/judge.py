"""Compares the table with what was reckoned."""

from history.reckoning import Row

DAY_SECONDS = 86_400
# From the judge's reading of the clock to Cassandra's, and what passes in between.
TTL_SECONDS = 60
NOTHING = Row(None, 0)


class Judge:
    """`faults`: what is wrong, as (promise, text), is added to it."""

    def __init__(self, faults, retention_days):
        self._faults, self._retention = faults, retention_days * DAY_SECONDS
        self.users = self.rows = self.tombstones = self.watermarks = 0

    def judge(self, known, stored, now):
        """What is known and stored of users, by id; `now`: milliseconds, of the read."""
        for mid, knows in known.items():
            self._user(mid, knows, stored[mid], now)

    def _user(self, mid, knows, stored, now):
        self.users += 1
        self.watermarks += stored.watermark > 0
        if not knows.least <= stored.watermark <= knows.most:
            return self._fault(mid, f"the watermark is {stored.watermark}, not {_between(knows.least, knows.most)}")
        if stored.floor:
            self._fault(mid, f"the floor is {stored.floor}; nothing was removed")
        if stored.switches != knows.switches:
            self._fault(mid, f"the switches are {stored.switches}, not {knows.switches}")
        expected = knows.as_of(stored.watermark)
        for content in expected.keys() | stored.rows.keys():
            self._content(mid, content, expected.get(content), stored, now)

    def _content(self, mid, content, expected, stored, now):
        found = stored.rows.get(content)
        if found is None:
            return self._fault(mid, f"{content} is missing, should be {expected}")
        if expected is None:
            return self._fault(mid, f"{content} is back: {found.row}, forgotten up to {stored.watermark}")
        # A tombstone below a newer record says nothing, and one below the watermark; whether it is still there depends on when the row was written.
        tombstone = found.row.tombstone if found.row.tombstone > stored.watermark else 0
        if expected.record:
            tombstone, expected = 0, expected._replace(tombstone=0)
        if Row(found.row.record, tombstone) != expected:
            return self._fault(mid, f"{content} is {found.row}, should be {expected}")
        self.rows += 1
        self.tombstones += expected.tombstone > 0
        if found.version != found.written:
            self._fault(mid, f"{content} has version {found.version}, but was written as of {found.written}")
        newest = max(expected.record.at if expected.record else 0, found.row.tombstone)
        # A retention of whole days ends with the day.
        left = newest // 1000 // DAY_SECONDS * DAY_SECONDS + self._retention - now // 1000
        if found.ttl is None or abs(found.ttl - left) > TTL_SECONDS:
            self._fault(mid, f"{content} expires in {found.ttl} s, should in {left} s")

    def _fault(self, mid, text):
        self._faults.append(("same", f"user {mid}: {text}"))


def _between(least, most):
    return least if least == most else f"from {least} to {most}"
