"""Clients that say the wrong thing about what is played."""

import asyncio

from .faults import Client, breaks  # finds the examples

from clock import Clock  # noqa: I001
from playback import Playback

SLOW_MS = 5_000


# The start of a playback.


@breaks("resumes-where-the-viewer-was")
class StartsOver(Playback):
    def known(self, record):
        super().known(None)


@breaks("no-beat-before-the-position-is-known")
class SpeaksAtOnce(Playback):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.held = False


@breaks("partial-is-no-answer")
class TakesPartial(Client):
    async def get(self, contents):
        records, _ = await super().get(contents)
        return records, False


@breaks("a-viewer-who-seeked-stays")
class TakesTheViewerBack(Playback):
    def seeked(self):
        super().seeked()
        self._moved = False


@breaks("own-unsent-beats-count")
class ForgetsItsOwn(Client):
    class Playback(Playback):
        def own_place(self):
            return None

    def _welcomed(self, welcome):
        """Asks before it sends what is left: otherwise the gateway would know."""
        super()._welcomed(welcome)
        left, self._unsent = self._unsent, []
        self.spawn(self._send_later(left))

    async def _send_later(self, beats):
        await asyncio.sleep(0.5)
        self._unsent += beats
        self._wake.set()


@breaks("answers-matched-by-seq")
class TakesAnyAnswer(Client):
    def answered(self, result):
        waiting = [request for request in self._requests if request["seq"] and not request["answer"].done()]
        if waiting and "records" in result:
            waiting[0]["answer"].set_result(result)


# Beats.


@breaks("beats-at-the-interval")
class Slow(Client):
    def _welcomed(self, welcome):
        super()._welcomed({**welcome, "interval": SLOW_MS})


@breaks("dur-in-every-beat")
class WithoutLength(Playback):
    def beat(self, state):
        beat = super().beat(state)
        del beat["dur"]
        return beat


@breaks("nothing-played-no-beat")
class Hasty(Playback):
    def is_nothing(self, beat):
        return False


@breaks("beats-at-every-change")
class SaysNoPause(Playback):
    def paused(self):
        pass


@breaks("says-nothing-new-while-paused")
class ChattersWhilePaused(Playback):
    def paused(self):
        super().paused()
        self.client.spawn(self._chatter())

    async def _chatter(self):
        while not self.player.playing:
            self.last = {**self.last, "at": self.client.clock.now()}
            self.client.put(dict(self.last), False)
            await asyncio.sleep(0.5)


@breaks("watched-counts-what-was-played")
class CountsSeeks(Playback):
    def seeked(self):
        self._advance()
        super().seeked()


@breaks("an-advertisement-is-not-the-content")
class ReportsAdvertisements(Playback):
    def suspend(self):
        pass


@breaks("replay-is-a-new-session")
class ReplaysOn(Playback):
    def replayed(self):
        pass


@breaks("reload-is-a-new-session")
class KeepsItsSession(Playback):
    def new_session(self):
        super().new_session()
        self.session = self.client.user
        self.client.sessions.add(self.session)

    def own_place(self):
        return self.client.outbox.newest(self.content, but=None)


# The clock.


@breaks("at-follows-the-server-clock")
class GoesByItsOwnClock(Client):
    def __init__(self, *parts, **more):
        super().__init__(*parts, **more)
        self.clock.rebase = lambda now: setattr(self.clock, "offset", 0)


class SetOnce(Clock):
    def rebase(self, now):
        if not self.known:
            super().rebase(now)


@breaks("rebases-at-each-welcome")
class SetByTheFirstWelcome(Client):
    def __init__(self, *parts, **more):
        super().__init__(*parts, **more)
        self.clock = SetOnce()


@breaks("rebases-after-clock")
class IgnoresNow(Client):
    def acked(self, ack):
        super().acked({name: value for name, value in ack.items() if name != "now"})


@breaks("far-behind-is-a-new-session")
class GoesBackInItsSession(Playback):
    def too_far_ahead(self):
        pass

    def at(self, now, last):
        return now


@breaks("at-increases-within-a-session")
class FollowsTheClockBack(Playback):
    def at(self, now, last):
        return now


@breaks("early-beats-are-stamped-once")
class StampsAgain(Client):
    def _welcomed(self, welcome):
        super()._welcomed(welcome)
        for entry in self.outbox._entries:
            entry["beat"]["at"] = self.clock.at(entry["made"])


@breaks("delete-covers-what-is-shown")
class DeletesByTheClock(Client):
    def time_of_delete(self, contents):
        return self.clock.now()


@breaks("clear-covers-what-is-shown")
class ClearsByTheClock(Client):
    async def clear(self):
        await self.ask("clear", lambda: {"at": self.clock.now()})


# Other devices.


@breaks("elsewhere-holds-beats")
class Talks(Playback):
    def taken_over(self, record, superseded=False):
        pass


@breaks("superseded-stops")
class TalksWhenSuperseded(Playback):
    def taken_over(self, record, superseded=False):
        if not superseded:
            super().taken_over(record)


@breaks("viewer-takes-back")
class StaysSilent(Playback):
    def _acts(self):
        self.client.acted()


@breaks("own-record-is-not-elsewhere")
class TakesItselfForAnother(Playback):
    def is_other(self, record):
        return True


@breaks("flag-is-honoured")
class WithoutFlag(Client):
    def newer_flag(self, flag):
        pass


@breaks("flag-is-not-made-up")
class MakesAFlag(Client):
    def __init__(self, *parts, **more):
        super().__init__(*parts, **more)
        self.flag = "2001-01-01"
