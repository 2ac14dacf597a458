"""Whether a report of the fuzzing client is good."""

# Of the 517 cases 216 are about compression, which the gateway does not offer.
EXCLUDED = ["12.*", "13.*"]
CASES = 301

# Bad UTF-8 in the middle of a frame that is not whole yet: to be found when the frame is whole is allowed, at once is
# better. (Between the fragments of a message, 6.4.1 and 6.4.2, it must be found at once.)
MAY_BE_NON_STRICT = {"6.4.3", "6.4.4"}

# The standard leaves open what happens: whether what was sent before a close frame is still answered when a lot of it is
# on its way, and close codes above 4999.
INFORMATIONAL = {"7.1.6", "7.13.1", "7.13.2"}


def faults(cases):
    """What is wrong with the `cases` of one server in an index.json, a line each."""
    in_order = sorted(cases, key=lambda case: [int(part) for part in case.split(".")])
    found = [f"{case}: {what}" for case in in_order if (what := _fault(case, cases[case]))]
    if len(cases) != CASES:
        found.append(f"{len(cases)} cases were run, not {CASES}")
    return found


def _fault(case, result):
    allowed = {"OK"}
    if case in MAY_BE_NON_STRICT:
        allowed.add("NON-STRICT")
    if case in INFORMATIONAL:
        allowed.add("INFORMATIONAL")
    behavior, close = result["behavior"], result["behaviorClose"]
    if behavior not in allowed:
        return f"{behavior}; its close: {close}"
    # How the connection ended is judged apart, and never non-strict.
    if close not in allowed - {"NON-STRICT"}:
        return f"{behavior}, but its close: {close}"
    return None
