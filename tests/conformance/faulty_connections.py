"""Clients that keep, send and connect in the wrong way."""

import asyncio

from websockets.frames import Opcode

from .faults import Client, breaks


# The outbox.


@breaks("resends-only-after-a-reconnect")
class Repeats(Client):
    def put(self, beat, held):
        self._unsent += [beat for beats in self._frames.values() for beat in beats]
        super().put(beat, held)


@breaks("resends-unacked")
class SendsOnce(Client):
    def _welcomed(self, welcome):
        super()._welcomed(welcome)
        self._unsent = []


@breaks("resends-after-a-reload")
class LeavesTheOldBehind(Client):
    def _welcomed(self, welcome):
        super()._welcomed(welcome)
        self._unsent = [beat for beat in self._unsent if beat["session"] in self.sessions]


@breaks("beats-of-a-frame-are-limited")
class SendsAllInOne(Client):
    def beats_of_a_frame(self):
        return 500


@breaks("acks-are-cumulative")
class TakesAcksByNumber(Client):
    def acked(self, ack):
        others = {seq: beats for seq, beats in self._frames.items() if seq != ack["seq"]}
        self._frames = {seq: beats for seq, beats in self._frames.items() if seq == ack["seq"]}
        super().acked(ack)
        self._frames.update(others)


@breaks("no-resend-of-rejected")
class Insists(Client):
    def rejected(self, beat, reason, record=None):
        super().rejected(beat, reason, record)
        asyncio.get_running_loop().call_soon(self.outbox.put, beat, self.clock.local(), False)


@breaks("no-resend-of-a-refused-frame")
class SendsTheFrameAgain(Client):
    def failed(self, error):
        if not self._frames.pop(error.get("seq"), None):
            super().failed(error)


@breaks("never-three-refused-in-a-row")
class SendsSuspectsInARow(Client):
    def _next_frame(self):
        self._hello_due = self._hello_due and not self._suspects
        return super()._next_frame()


@breaks("hidden-flushes")
class EndsQuietly(Client):
    async def hide(self):
        pass


@breaks("flush-is-limited")
class FlushesAll(Client):
    async def flush(self):
        return await self._post(self.outbox.sendable()[::-1])


@breaks("flushed-beats-are-kept")
class FlushesAndForgets(Client):
    async def _post(self, beats):
        done = await super()._post(beats)
        for beat in beats:
            self.outbox.settle(beat)
        return done


# The connection.


@breaks("backs-off")
class Hammers(Client):
    def backoff(self):
        return 0.01


@breaks("backs-off-with-jitter")
class WaitsForTheLimit(Client):
    def backoff(self):
        self._attempts += 1
        return 0.25 * 2**self._attempts


@breaks("http-without-sockets")
class KnowsNoHttp(Client):
    async def _post_in_place_of_sockets(self):
        pass


@breaks("drained-comes-back-as-told")
class HearsNoBye(Client):
    def _wait(self, code, reason, bye):
        return super()._wait(code, reason, None)


@breaks("token-renewed-in-place")
class LetsItEnd(Client):
    async def _renew(self, expires):
        pass


@breaks("fresh-token-for-each-connection")
class KeepsItsToken(Client):
    async def token_for_connection(self):
        return self.token or await super().token_for_connection()


class KeepsItsTokenAfter(Client):
    CODE = None
    _closed = None

    def _wait(self, code, reason, bye):
        self._closed = code
        wait = super()._wait(code, reason, bye)
        self._refusal = None
        return wait

    async def token_for_connection(self):
        return self.token if self._closed == self.CODE else await super().token_for_connection()


@breaks("new-token-after-4001")
class KeepsTheRefused(KeepsItsTokenAfter):
    CODE = 4001


@breaks("new-token-after-4002")
class KeepsTheExpired(KeepsItsTokenAfter):
    CODE = 4002


@breaks("refused-twice-waits")
class InsistsOnItsTokens(Client):
    def _wait(self, code, reason, bye):
        super()._wait(code, reason, bye)
        return 0.5


@breaks("comes-back-where-it-helps")
class GivesUpEarly(Client):
    def is_over(self, code):
        return code == 4008 or super().is_over(code)


@breaks("kicked-stays-away")
class ComesBackAfterAKick(Client):
    def is_over(self, code):
        return code != 4003 and super().is_over(code)


@breaks("a-bug-stays-away")
class ComesBackWithItsBug(Client):
    def is_over(self, code):
        return code != 4000 and super().is_over(code)


@breaks("too-many-waits-for-the-viewer")
class ComesBackUnasked(Client):
    def waits_for_viewer(self, code):
        return False


@breaks("the-viewer-reconnects")
class StaysParked(Client):
    def acted(self):
        pass


@breaks("half-open-is-noticed")
class WaitsForever(Client):
    def silent(self):
        pass


@breaks("ignores-the-unknown")
class KnowsAll(Client):
    def _received(self, kind, body):
        if kind not in ("ack", "result", "error", "push", "bye", "reward"):
            self._socket.transport.abort()
        super()._received(kind, body)


@breaks("answers-pings")
class WithoutPongs(Client):
    async def _talk(self, socket):
        send = socket.protocol.send_frame
        socket.protocol.send_frame = lambda frame: None if frame.opcode is Opcode.PONG else send(frame)
        return await super()._talk(socket)


class Unlimited:
    async def take(self):
        pass


@breaks("stays-within-the-rate")
class SendsAsItComes(Client):
    def allowance(self):
        return Unlimited()


# Every frame.


@breaks("frames-are-valid")
class SaysANumber(Client):
    def introduction(self):
        return {"device": 7}


@breaks("seq-increases")
class StandsStill(Client):
    def _next_frame(self):
        operation, body = super()._next_frame()
        self._seq -= operation == "beats"
        return operation, body


@breaks("no-token-in-a-url")
class PutsItIntoTheUrl(Client):
    def socket_url(self):
        return f"{super().socket_url()}?access_token={self.token}"
