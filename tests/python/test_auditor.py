"""The auditor knows whose changes may still be on their way when it reads back."""

import json
import tempfile
import unittest
from pathlib import Path

from auditor.judge import Judge
from auditor.readback import judge_user

MID, CONNECTION = 7, 1
BEAT = {"kind": 1, "oid": "5", "pos": 1, "dur": 0, "state": "playing", "session": "3", "watched": 1, "at": 1_000}
WELCOME = {"now": 1_000, "today": "2026-11-20"}


class Unsettled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = Path(folder.name) / "journal"
        self.journal.touch()
        self.judge = Judge([self.journal])

    def ledger(self, *events):
        """Of a user of whom this was noted."""
        with open(self.journal, "a") as journal:
            for event, what in [("open", ["tv", WELCOME, 1_000]), *events]:
                journal.write(json.dumps([event, MID, CONNECTION, what, 2_000]) + "\n")
        self.judge.read_journals(1)
        [ledger] = self.judge.ledgers()
        return ledger

    def test_who_goes_with_all_answers_is_settled(self):
        sent, acked = ("sent", {"seq": 2, "beats": {"items": [BEAT]}}), ("got", {"ack": {"seq": 2}})
        ledger = self.ledger(sent, acked, ("dropped", None))
        self.assertFalse(ledger.unsettled)
        self.assertEqual(self.judge.faults, [])

    def test_who_goes_without_one_is_not(self):
        sent = {"seq": 2, "beats": {"items": [BEAT]}}
        self.assertTrue(self.ledger(("sent", sent), ("dropped", None)).unsettled)
        deletion = {"seq": 2, "delete": {"items": [{"kind": 1, "oid": "5"}], "at": 900}}
        self.assertTrue(self.ledger(("sent", deletion), ("closed", 1006)).unsettled)

    def test_a_list_must_agree_with_what_is_got_one_by_one(self):
        ledger = self.ledger(("sent", {"seq": 2, "beats": {"items": [BEAT]}}), ("got", {"ack": {"seq": 2}}), ("dropped", None))
        record = {**BEAT, "device": "tv"}
        self.assertIsNone(judge_user(ledger, [record], {(1, 5): record}))
        self.assertIn("list shows 0 records, get 1", judge_user(ledger, [], {(1, 5): record}))
        self.assertEqual(self.judge.faults, [])

    def test_a_record_keeps_a_length_that_was_sent_before(self):
        known, beyond = {**BEAT, "dur": 10_000}, {**BEAT, "at": 1_001, "pos": 70_001, "dur": 10_000}
        for newer, lengths in (({**BEAT, "at": 1_001}, (0, 10_000)), (beyond, (0,))):
            sent, acked = ("sent", {"seq": 2, "beats": {"items": [known, newer]}}), ("got", {"ack": {"seq": 2}})
            ledger = self.ledger(sent, acked, ("dropped", None))
            for length in (0, 10_000, 20_000):
                shown = ledger.shown({**newer, "device": "tv", "dur": length}, "get")
                self.assertEqual(shown is not None, length in lengths, (newer, length))
            self.assertIsNone(ledger.shown({**known, "device": "tv", "dur": 0}, "get"), "its own length counts")
            self.setUp()

    def test_an_acked_beat_that_is_not_read_is_lost(self):
        ledger = self.ledger(("sent", {"seq": 2, "beats": {"items": [BEAT]}}), ("got", {"ack": {"seq": 2}}), ("dropped", None))
        self.assertIsNone(judge_user(ledger, [], {(1, 5): None}))
        self.assertEqual([promise for promise, _ in self.judge.faults], ["I1"])


if __name__ == "__main__":
    unittest.main()
