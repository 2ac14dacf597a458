"""In which intervals a user's recording was paused, as far as it can be known from outside.

A switch is known from the moment its result came, and possible from the moment it was sent. Moments are
positions in the user's own sequence of journal events.
"""

from dataclasses import dataclass


@dataclass
class Switch:
    at: int
    paused: bool
    sent: int
    done: int | None = None


class Pauses:
    def __init__(self):
        self._switches = []

    def __bool__(self):
        return bool(self._switches)

    def sent(self, at, paused, moment):
        """A resend of an unanswered switch is the same switch."""
        for switch in self._switches:
            if (switch.at, switch.paused) == (at, paused):
                return switch
        switch = Switch(at, paused, moment)
        self._switches.append(switch)
        return switch

    def possible(self, at, beat_sent):
        """Could a beat of this `at`, sent at that moment, have been refused?"""
        return any(
            pause.at <= at
            and not any(pause.at < r.at < at and r.done is not None and r.done < beat_sent for r in self._resumes())
            for pause in self._pauses()
        )

    def certain(self, at, beat_sent):
        """Must every copy of it have been refused, the first having been sent at that moment?"""
        return any(
            pause.at <= at
            and pause.done is not None
            and pause.done < beat_sent
            and not any(pause.at < r.at < at for r in self._resumes())
            for pause in self._pauses()
        )

    def _pauses(self):
        return (s for s in self._switches if s.paused)

    def _resumes(self):
        return (s for s in self._switches if not s.paused)
