"""What the judge of the history store finds, and what it does not mind."""

import unittest

from history.judge import DAY_SECONDS, Judge
from history.reckoning import Reckoning
from history.table import Stored, StoredUser

NOW = 1_795_150_000_000
RETENTION_DAYS = 90
MID, CONTENT = 42, (1, 7)


def beat(at, session="5", **changes):
    item = {"kind": 1, "oid": "7", "pos": 3, "dur": 9, "state": "paused", "watched": 1}
    return item | {"session": session, "at": at} | changes


def stored(reckoning, watermark):
    """Exactly as it should be."""
    user = StoredUser(watermark, 0, list(reckoning.known.switches))
    for content, row in reckoning.known.as_of(watermark).items():
        newest = max(row.record.at if row.record else 0, row.tombstone)
        left = newest // 1000 // DAY_SECONDS * DAY_SECONDS + RETENTION_DAYS * DAY_SECONDS - NOW // 1000
        user.rows[content] = Stored(row, newest * 1000, newest * 1000, left)
    return user


class TestReckoning(unittest.TestCase):
    def setUp(self):
        self.reckoning = Reckoning()

    def record(self):
        row = self.reckoning.known.rows.get(CONTENT)
        return row and row.record

    def test_the_greatest_beat_by_moment_and_session_is_the_record(self):
        self.assertTrue(self.reckoning.beat(beat(NOW, "5"), "tv"))
        self.assertFalse(self.reckoning.beat(beat(NOW, "4"), "tv"))
        self.assertFalse(self.reckoning.beat(beat(NOW - 1, "9"), "tv"))
        self.assertTrue(self.reckoning.beat(beat(NOW, "11"), "tv"))
        self.assertEqual((self.record().at, self.record().session), (NOW, 11))

    def test_a_beat_up_to_a_delete_or_clear_is_removed_and_stays_removed(self):
        for name, contents in (("delete", [[CONTENT]]), ("clear", [])):
            self.setUp()
            forget = getattr(self.reckoning, name)
            self.reckoning.beat(beat(NOW), "tv")
            forget(*contents, NOW - 1)
            self.assertEqual(self.record().at, NOW)
            forget(*contents, NOW)
            self.assertIsNone(self.record())
            self.assertFalse(self.reckoning.beat(beat(NOW), "tv"))
            self.assertTrue(self.reckoning.beat(beat(NOW + 1), "tv"))

    def test_both_ends_of_a_pause_belong_to_it(self):
        self.reckoning.switch(NOW, True)
        self.reckoning.switch(NOW + 9, False)
        accepted = [at for at in range(NOW - 1, NOW + 11) if self.reckoning.beat(beat(at), "tv")]
        self.assertEqual(accepted, [NOW - 1, NOW + 10])


class TestJudge(unittest.TestCase):
    def setUp(self):
        self.reckoning = Reckoning()
        self.reckoning.clear(NOW - 50)
        self.reckoning.delete([(1, 8)], NOW - 40)
        self.reckoning.switch(NOW - 30, True)
        self.reckoning.switch(NOW - 20, False)
        self.reckoning.beat(beat(NOW), "tv")
        self.stored = stored(self.reckoning, NOW - 50)

    def faults(self):
        faults = []
        Judge(faults, RETENTION_DAYS).judge({MID: self.reckoning.known}, {MID: self.stored}, NOW)
        return [text for _, text in faults]

    def changed(self, content=CONTENT, record=None, **changes):
        found = self.stored.rows[content]
        row = found.row._replace(record=found.row.record._replace(**record)) if record else found.row
        self.stored.rows[content] = found._replace(row=row, **changes)
        return self.faults()

    def test_expected_records_have_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_a_missing_or_returned_record_is_a_fault(self):
        gone = self.stored.rows.pop(CONTENT)
        self.assertIn("missing", self.faults()[0])
        self.stored.rows[CONTENT] = self.stored.rows[1, 9] = gone
        self.assertIn("is back", self.faults()[0])

    def test_another_record_version_or_expiry_is_a_fault(self):
        for record in ({"at": NOW - 1}, {"pos": 4}, {"session": 6}, {"device": "tv2"}):
            self.setUp()
            self.assertIn("should be", self.changed(record=record)[0])
        self.setUp()
        self.assertIn("as of", self.changed(written=NOW * 1000 + 1)[0])
        self.setUp()
        self.assertIn("expires", self.changed(ttl=None)[0])

    def test_another_watermark_switch_or_floor_is_a_fault(self):
        for change in ({"watermark": NOW - 51}, {"switches": []}, {"floor": 1}):
            self.setUp()
            vars(self.stored).update(change)
            self.assertEqual(len(self.faults()), 1, change)

    def test_an_erasure_has_its_watermark_at_some_moment_of_its_request(self):
        self.reckoning.erase(NOW + 1, NOW + 9)
        for watermark, faults in ((NOW, 1), (NOW + 1, 0), (NOW + 9, 0), (NOW + 10, 1)):
            self.stored = StoredUser(watermark)
            self.assertEqual(len(self.faults()), faults, watermark)


if __name__ == "__main__":
    unittest.main()
