import unittest

from autobahn.judge import CASES, faults


def _report(**changed):
    report = {f"1.1.{n}": {"behavior": "OK", "behaviorClose": "OK"} for n in range(CASES - 3)}
    for case in ("6.4.1", "6.4.3", "7.1.6"):
        report[case] = {"behavior": "OK", "behaviorClose": "OK"}
    for case, (behavior, close) in changed.items():
        report[case.strip("c").replace("_", ".")] = {"behavior": behavior, "behaviorClose": close}
    return report


class Judged(unittest.TestCase):
    def good(self, **changed):
        self.assertEqual(faults(_report(**changed)), [])

    def bad(self, expected, **changed):
        found = faults(_report(**changed))
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_good_cases_are_no_fault(self):
        self.good()
        self.good(c6_4_3=("NON-STRICT", "OK"))
        self.good(c7_1_6=("INFORMATIONAL", "INFORMATIONAL"))

    def test_a_case_that_fails_is_a_fault(self):
        for behavior in ("FAILED", "NON-STRICT", "INFORMATIONAL", "UNIMPLEMENTED", "NO_CLOSE"):
            self.bad(f"1.1.1: {behavior}", c1_1_1=(behavior, "OK"))

    def test_only_the_cases_that_are_listed_may_be_less_than_ok(self):
        self.bad("6.4.1: NON-STRICT", c6_4_1=("NON-STRICT", "OK"))
        self.bad("6.4.3: FAILED", c6_4_3=("FAILED", "OK"))
        self.bad("6.4.3: INFORMATIONAL", c6_4_3=("INFORMATIONAL", "OK"))
        self.bad("7.1.6: NON-STRICT", c7_1_6=("NON-STRICT", "OK"))

    def test_a_bad_close_is_a_fault(self):
        for close in ("FAILED", "UNCLEAN", "WRONG CODE", "FAILED BY CLIENT", "INFORMATIONAL"):
            self.bad(f"1.1.1: OK, but its close: {close}", c1_1_1=("OK", close))

    def test_cases_that_were_not_run_are_a_fault(self):
        report = _report()
        del report["1.1.1"]
        self.assertEqual(faults(report), [f"{CASES - 1} cases were run, not {CASES}"])
        self.assertEqual(faults({}), [f"0 cases were run, not {CASES}"])
