"""Follows one player, and makes the beats of its content."""

import secrets

AHEAD_MS_MAX = 5_000  # a session whose last `at` is further ahead of the clock cannot go on
WITHOUT_THRESHOLDS = (2, 3)  # live streams, articles
MOVED_MS = 5_000  # who has watched so much has not merely let it run


def resume_of(beat):
    """Where the gateway would resume, by the thresholds that it has unless it is told others."""
    pos, dur = beat["pos"], beat.get("dur")
    if beat["state"] == "ended":
        return 0
    if not dur or beat["kind"] in WITHOUT_THRESHOLDS:
        return pos
    return 0 if pos >= 0.9 * dur or (pos < 0.05 * dur and pos < 180_000) else pos


def content_of(record):
    return str(record["kind"]), str(record["oid"])


class Playback:
    def __init__(self, client, player, content, on_elsewhere, on_offer):
        self.client, self.player, self.content = client, player, content
        self._on_elsewhere, self._on_offer = on_elsewhere, on_offer
        self.held = True  # it is not known yet where the viewer was
        self.silent = False  # another device has taken over
        self._moved = self._over = self._stopped = self._suspended = False
        self._pos = player.pos
        self._played = self._counted = self._accepted = 0  # milliseconds of media
        self.last, self._made_at, self._refused = None, float("-inf"), False
        self.new_session()

    # What the owner of the player tells.

    def started(self):
        """The viewer starts, or goes on."""
        self._acts()
        if self._over:
            self._over, self._pos = False, self.player.pos
            self.replayed()
        self._advance()
        self.make("playing")

    def tick(self):
        self._advance()
        if self.held and self._played > MOVED_MS:
            self._moved = True
        if self.client.clock.local() - self._made_at >= self.client.interval:
            self.make("playing")

    def paused(self):
        self._advance()
        self.make("paused")

    def seeked(self):
        """The viewer is somewhere else: what lies between was not played."""
        self._acts()
        self._moved = True
        self._pos = self.player.pos
        if self._over:
            self._over = False
            self.replayed()
        self.make("seeked")

    def ended(self):
        self._advance()
        self._over = True
        self.make("ended")

    def suspend(self):
        """What the player plays from now on is not the content: an advertisement."""
        self._advance()
        self._suspended = True

    def go_on(self):
        """The player is back where it was."""
        self._suspended = False
        self._pos = self.player.pos

    def hidden(self):
        """The app goes to the background, and may end there."""
        if self.player.playing:
            self._advance()
            self.make("playing")

    def stop(self):
        if self.last and self.last["state"] == "playing":
            self.paused()
        self._stopped = True
        self.client.playbacks.remove(self)

    # What the client tells.

    def known(self, record):
        """It is known where the viewer was. Of the record and what was not sent yet the newest counts."""
        if not self.held or self._stopped:
            return
        own = self.own_place()
        if own and (not record or (own["at"], int(own["session"])) > (record["at"], int(record["session"]))):
            record = {**own, "resume": resume_of(own)}
        place = record["resume"] if record else 0
        if place and self._moved:
            self._on_offer(record)
        elif place:
            self.player.go(place)
            self._pos, self._played = place, 0
            self._accepted = 0
            self.new_session()
        self.held = False
        self.client.release(self.content)
        self._advance()
        self.make("playing" if self.player.playing else "paused")

    def own_place(self):
        return self.client.outbox.newest(self.content, but=self.session)

    def accepted(self, beat):
        if beat["session"] == self.session:
            self._accepted = max(self._accepted, self._counted + beat["watched"])

    def rejected(self, beat, reason):
        if beat is not self.last:
            return
        self._refused = True
        if reason == "clock":
            self.make(beat["state"])

    def taken_over(self, record, superseded=False):
        """Another device plays on from here. What happens until the viewer acts here says nothing new."""
        if content_of(record) != self.content or not self.last or not self.is_other(record):
            return
        if record["at"] < self.last.get("at", float("inf")):
            return
        if superseded or record["state"] == "playing" or not self.player.playing:
            self.silent = True
            self._on_elsewhere(record)

    def is_other(self, record):
        return record["session"] not in self.client.sessions

    # Beats.

    def new_session(self):
        self.session = str(secrets.randbits(63))
        self.client.sessions.add(self.session)
        self._counted = self._accepted

    def replayed(self):
        self._played = self._accepted = 0
        self.new_session()

    def make(self, state):
        """Makes a beat, if there is something to say."""
        if self._suspended or self._stopped or self.silent or (self.held and not self._moved):
            return
        now = self.client.clock.now() if self.client.clock.known else None
        last = self.last.get("at", 0) if self.last else 0
        if now is not None and last - now > AHEAD_MS_MAX:
            self.too_far_ahead()
            last = 0
        beat = self.beat(state)
        if self.is_nothing(beat) or self._repeats(beat):
            return
        if now is not None:
            beat["at"] = self.at(now, last)
        self.last, self._refused, self._made_at = beat, False, self.client.clock.local()
        self.client.put(beat, self.held)

    def beat(self, state):
        kind, oid = self.content
        beat = {"kind": int(kind), "oid": oid, "pos": int(self.player.pos), "state": state, "session": self.session}
        beat["watched"] = int(self._played) - int(self._counted)
        return {**beat, "dur": self.player.dur} if self.player.dur else beat

    def too_far_ahead(self):
        """The clock has gone back by more than a little."""
        self.new_session()

    def at(self, now, last):
        """Never falls within a session: if the clock went back a little, it goes on by milliseconds."""
        return max(now, last + 1)

    def is_nothing(self, beat):
        """Nothing was played yet: a failed start, or a wrong click, erases no position."""
        return beat["watched"] <= 0

    def _repeats(self, beat):
        """A new `at` would claim that the position is newer than what another device has played since."""
        told = {name: value for name, value in (self.last or {}).items() if name != "at"}
        return beat == told and not self._refused

    def _advance(self):
        if self._suspended:
            return
        if self.player.pos > self._pos:
            self._played += self.player.pos - self._pos
        self._pos = self.player.pos

    def _acts(self):
        self.silent = False
        self.client.acted()
