"""The beats of one user that have no answer yet, in a file, so that they outlive the process."""

import json
import os
import sys

SESSION_MAX = 24  # beats of one session
BEATS_MAX = 512


class Outbox:
    def __init__(self, path):
        self._path = path
        self._entries = []  # {"beat", "made", "held"}, in the order of making
        try:
            self._entries = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            pass  # none yet, or cut off when the machine went down

    def put(self, beat, made, held):
        """Keeps a beat. `made` is the local time: without the server's clock it has no `at` yet."""
        self._entries.append({"beat": beat, "made": made, "held": held})
        of_session = [entry for entry in self._entries if entry["beat"]["session"] == beat["session"]]
        # The newest says where the viewer is; some earlier ones count if it is rejected. The first of them is kept.
        if len(of_session) > SESSION_MAX:
            self._entries.remove(of_session[1])
        if len(self._entries) > BEATS_MAX:
            print(f"dropped, since the outbox is full: {self._entries.pop(0)['beat']}", file=sys.stderr)
        self._write()
        return beat

    def settle(self, beat):
        """Forgets a beat that was answered. Returns whether it was there."""
        left = [entry for entry in self._entries if _key(entry["beat"]) != _key(beat)]
        was_there = len(left) < len(self._entries)
        self._entries = left
        if was_there:
            self._write()
        return was_there

    def sendable(self):
        """The oldest first."""
        beats = [entry["beat"] for entry in self._entries if not entry["held"] and "at" in entry["beat"]]
        return sorted(beats, key=lambda beat: beat["at"])

    def release(self, content):
        """It is known where the viewer was in this content."""
        released = [entry for entry in self._entries if entry["held"] and _content(entry["beat"]) == content]
        for entry in released:
            entry["held"] = False
        if released:
            self._write()
        return [entry["beat"] for entry in released]

    def stamp(self, clock):
        """Gives beats that were made without the server's clock their `at`, once and for all, before they are sent."""
        late = [entry for entry in self._entries if "at" not in entry["beat"]]
        following = {}
        for entry in reversed(late):  # within a session no two get the same
            session = entry["beat"]["session"]
            at = min(clock.at(entry["made"]), following.get(session, 1 << 53) - 1)
            entry["beat"]["at"] = following[session] = at
        if late:
            self._write()

    def newest(self, content, but):
        """The newest beat of a content that another session than `but` has made."""
        beats = [entry["beat"] for entry in self._entries if "at" in entry["beat"]]
        mine = [beat for beat in beats if _content(beat) == content and beat["session"] != but]
        return max(mine, key=lambda beat: (beat["at"], int(beat["session"])), default=None)

    def _write(self):
        """In one step: a file that is half written would lose all of it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        half = self._path.with_suffix(".new")
        half.write_text(json.dumps(self._entries))
        os.replace(half, self._path)


def _content(beat):
    return str(beat["kind"]), beat["oid"]


def _key(beat):
    return beat["session"], beat.get("at")
