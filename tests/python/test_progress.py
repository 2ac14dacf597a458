"""How far a load has come is read from its journals while they grow."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from auditor import progress
from auditor.progress import Progress


class Answered(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = Path(folder.name) / "journal"
        self.journal.touch()
        self.progress = Progress([self.journal])

    def note(self, *lines):
        with open(self.journal, "a") as journal:
            journal.writelines(f"{line}\n" for line in lines)

    def sent(self, connection, seq):
        self.note(f'["sent",7,{connection},{{"seq":{seq},"beats":{{}}}},1]')

    def acked(self, connection, seq):
        self.note(f'["got",7,{connection},{{"ack":{{"seq":{seq}}}}},1]')

    def answered(self, *meanwhile):
        """Whether all was answered that waited before `meanwhile` happened."""
        steps = iter(meanwhile)

        def look(holds, every):
            found = holds()
            for step in steps:
                step()
                found = found or holds()
            return found

        with mock.patch.object(progress, "came", look):
            return self.progress.all_answered()

    def test_an_ack_answers_what_was_sent_before(self):
        self.sent(1, 2)
        self.sent(1, 3)
        self.assertFalse(self.answered(lambda: self.acked(1, 2)))
        self.assertTrue(self.answered(lambda: self.acked(1, 3)))

    def test_later_frames_may_wait(self):
        self.sent(1, 2)
        self.assertTrue(self.answered(lambda: self.sent(1, 3), lambda: self.acked(1, 2)))

    def test_each_connection_is_waited_for_unless_it_ends(self):
        self.sent(1, 2)
        self.sent(2, 2)
        self.assertFalse(self.answered(lambda: self.acked(1, 2)))
        self.assertTrue(self.answered(lambda: self.note('["closed",7,2,1006,1]')))

    def test_what_was_sent_before_the_begin_is_not_waited_for(self):
        self.sent(1, 2)
        self.progress.begin()
        self.assertTrue(self.answered())


if __name__ == "__main__":
    unittest.main()
