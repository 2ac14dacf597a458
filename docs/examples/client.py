"""A Heartline client to start from: it follows docs/clients.md with the standard library and `pip install websockets`.

    client = Client("http://127.0.0.1:7700", "42", get_token, folder="state", device="python")
    running = asyncio.create_task(client.run())
    playback = client.resume(player, ("1", "100"))       # goes where the viewer was, and reports from then on

A player has `pos` and `dur` in milliseconds, `playing`, and `go(pos)`. Its owner tells the playback what happens:
`started`, `paused`, `seeked`, `ended`, and `tick` several times in an interval while it plays.

Flow: player -> Playback (makes beats) -> Outbox (keeps them on disk) -> Client (frames, acks, one socket after another).
"""

import asyncio
import json
import random
import sys
import time
from collections import deque
from pathlib import Path
from urllib.request import Request, urlopen

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from clock import Allowance, Clock
from outbox import Outbox
from playback import Playback, content_of

WRONG_USER = -1
ENDS = {1002, 1003, 1007, 1009, 4000, 4003, WRONG_USER}  # a bug, or kicked: to try again would not help
REFUSED, TOO_MANY = 4001, 4004
REFUSED_WAITS = [5, 30, 60]  # seconds, if another token is refused for the same reason
TIME_MAY_MEND = ("kid", "not valid yet", "in time")
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
STEADY_SECONDS = 5  # a connection that lasts so long starts the backoff afresh
CONNECT_SECONDS = 15
FAILURES_MAX = 3  # so many attempts without a welcome, and HTTP takes the place of sockets
FLUSH_BYTES_MAX = 60 * 1024
RENEW_SECONDS_AHEAD = 60
LIMITS = {"beats": 500, "frames_per_second": 20, "burst": 100, "idle": 75_000}


class Refused(Exception):
    """The gateway answered a request with an error."""


class Client:
    Playback = Playback  # a subclass may have another

    def __init__(self, url, user, get_token, folder, device="python"):
        """`get_token(refused)` returns a token, in a coroutine: another one than before if it was refused."""
        self.url, self.user, self.get_token, self.device = url, user, get_token, device
        self.clock, self.outbox = Clock(), Outbox(Path(folder) / f"{user}.json")
        self.interval, self.limits = 5_000, LIMITS
        self.playbacks, self.sessions = [], set()  # sessions: those made here
        self.flag = self.token = self.connection = None
        self._seen = {}  # content -> the newest `at` that was shown of it
        self._socket = self._silence = self._bye = None
        self._requests = []  # what waits for its answer, over this connection or the next
        self._unsent, self._suspects, self._frames = [], deque(), {}
        self._seq = self._attempts = self._failures = self._refusals = 0
        self._hello_due, self._refusal, self._reason = False, None, None
        self._wake, self._acted = asyncio.Event(), asyncio.Event()
        self._tasks, self._posting = set(), False

    # What an application calls.

    def resume(self, player, content, on_elsewhere=lambda record: None, on_offer=lambda record: None):
        playback = self.Playback(self, player, content, on_elsewhere, on_offer)
        self.playbacks.append(playback)
        self.spawn(self._find_place(playback))
        return playback

    async def get(self, contents):
        """The records of these contents, and whether some could not be read just now."""
        items = [{"kind": int(kind), "oid": oid} for kind, oid in contents]
        result = await self.ask("get", lambda: {"items": items})
        for record in filter(None, result["records"]):
            self.saw(record)
        return result["records"], result.get("partial", False)

    async def list(self, **page):
        result = await self.ask("list", lambda: page)
        for record in result["records"]:
            self.saw(record)
        return result

    async def delete(self, contents):
        items = [{"kind": int(kind), "oid": oid} for kind, oid in contents]
        await self.ask("delete", lambda: {"items": items, "at": self.time_of_delete(contents)})

    async def clear(self):
        await self.ask("clear", lambda: {"at": self.time_of_delete(self._seen)})

    async def hide(self):
        """The app goes to the background, and may end there."""
        for playback in self.playbacks:
            playback.hidden()
        await self.flush()

    def acted(self):
        """The viewer has done something: what waits for that goes on."""
        self._acted.set()

    async def close(self):
        """Sends what is left, and ends."""
        await self.flush()
        self.abort()

    def abort(self):
        """Ends without a word."""
        for task in list(self._tasks):
            task.cancel()
        if self._socket:
            self._socket.transport.abort()

    def spawn(self, work):
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def ask(self, operation, body, timeout=10):
        """Asks, and again after a reconnect. `body` is made when it is sent."""
        answer = asyncio.get_running_loop().create_future()
        request = {"operation": operation, "body": body, "answer": answer, "seq": None}
        self._requests.append(request)
        self._wake.set()
        try:
            return await asyncio.wait_for(answer, timeout)
        finally:
            self._requests = [other for other in self._requests if other is not request]

    def put(self, beat, held):
        """Keeps a beat until it is answered, and sends it unless it is held."""
        beat = self.outbox.put(beat, self.clock.local(), held)
        if not held and self.connection and "at" in beat:
            self._unsent.append(beat)
            self._wake.set()

    def release(self, content):
        beats = self.outbox.release(content)
        if self.connection:
            self._unsent += [beat for beat in beats if "at" in beat]
            self._wake.set()

    def saw(self, record):
        content = content_of(record)
        self._seen[content] = max(self._seen.get(content, 0), record["at"])

    def time_of_delete(self, contents):
        """So that everything that the viewer sees is removed."""
        return max([self.clock.now(), *(self._seen.get(content, 0) for content in contents)])

    # One socket after another.

    async def run(self):
        """Connects, and stays connected, until nothing but a person could help."""
        while True:
            began = time.monotonic()
            code, reason = await self._connect()
            welcomed, bye = self.connection is not None, self._bye
            self._disconnected()
            if welcomed and time.monotonic() - began > STEADY_SECONDS:
                self._attempts = 0
            if self.is_over(code):
                print(f"gave up: {reason} ({code})", file=sys.stderr)
                return
            if self.waits_for_viewer(code):
                self._acted.clear()
                await self._acted.wait()
                continue
            await asyncio.sleep(self._wait(code, reason, bye))
            if self._failures >= FAILURES_MAX and not self._posting:
                self._posting = True
                self.spawn(self._post_in_place_of_sockets())

    def is_over(self, code):
        return code in ENDS

    def waits_for_viewer(self, code):
        return code == TOO_MANY

    def socket_url(self):
        """Never with the token in it: URLs are logged."""
        return self.url.replace("http", "ws", 1) + "/v1/connect"

    async def _connect(self):
        """One connection, from its token to its end. Returns the close code, and the reason."""
        try:
            token = await self.token_for_connection()
            if token == self._refusal:
                return REFUSED, self._reason  # it would be refused again
            self.token = token
            self._failures += 1
            headers = {"Authorization": f"Bearer {token}"}
            self._socket = await connect(
                self.socket_url(),
                subprotocols=["heartline.v1.json"],
                additional_headers=headers,
                open_timeout=CONNECT_SECONDS,
                ping_interval=None,  # the gateway pings, and silence is looked for below
                close_timeout=1,
            )
            return await self._talk(self._socket)
        except InvalidStatus as error:
            refused = error.response.status_code == 401
            return (REFUSED if refused else 0), (error.response.body or b"").decode(errors="replace")
        except (OSError, TimeoutError, ValueError) as error:
            return 0, str(error)

    async def _talk(self, socket):
        writer = renewer = None
        try:
            welcome = json.loads(await asyncio.wait_for(socket.recv(), CONNECT_SECONDS)).get("welcome")
            if not welcome:
                return 0, "the first frame is no welcome"
            if welcome["mid"] != self.user:
                return WRONG_USER, f"the token is of user {welcome['mid']}"
            self._welcomed(welcome)
            writer = asyncio.ensure_future(self._write(socket))
            renewer = asyncio.ensure_future(self._renew(welcome["expires"]))
            async for text in socket:
                self._heard()
                for kind, body in json.loads(text).items():
                    self._received(kind, body)
        except ConnectionClosed:
            pass
        finally:
            for task in filter(None, [writer, renewer]):
                task.cancel()
            socket.transport.abort()
        return socket.close_code or 1006, socket.close_reason

    async def token_for_connection(self):
        """A fresh one for each connection."""
        return await self.get_token(self._refusal is not None)

    def _welcomed(self, welcome):
        self.clock.rebase(welcome["now"])
        self.connection, self.interval = welcome["connection"], welcome["interval"]
        self.limits = {**LIMITS, **welcome["limits"]}
        self._seq, self._frames, self._refusal = 0, {}, None
        self._failures = self._refusals = 0
        self._suspects.clear()
        self.newer_flag(welcome.get("flag"))
        self.outbox.stamp(self.clock)
        self._unsent = self.outbox.sendable()
        self._hello_due = True
        self._wake.set()

    def _disconnected(self):
        self.connection = self._socket = self._bye = None
        self._heard()
        for request in self._requests:
            request["seq"] = None

    def _wait(self, code, reason, bye):
        """Seconds until the next attempt."""
        if bye:
            return bye["reconnect_after"] / 1000
        if code == REFUSED:
            passing = any(words in reason for words in TIME_MAY_MEND)
            self._refusal = None if passing else self.token
            self._refusals = self._refusals + 1 if reason == self._reason else 1
            self._reason = reason
            print(f"the gateway refused the token: {reason}", file=sys.stderr)
            if self._refusals > 1 and not passing:
                return REFUSED_WAITS[min(self._refusals, 4) - 2]
        return self.backoff()

    def backoff(self):
        """Full jitter: any time below a limit that doubles."""
        limit = min(LONGEST_WAIT, FIRST_WAIT * 2**self._attempts)
        self._attempts += 1
        return random.uniform(0, limit)

    async def _renew(self, expires):
        """Renews the token in place, before it ends."""
        while True:
            left = (expires - self.clock.now()) / 1000
            await asyncio.sleep(max(1, left - min(RENEW_SECONDS_AHEAD, left / 4)))
            try:
                self.token = await self.get_token(False)
                body = {"token": self.token}
                result = await self.ask("token", lambda: body)
                expires = result["expires"]
            except (OSError, TimeoutError, Refused):
                continue  # the gateway closes with 4002 when the old one ends

    # Frames.

    def allowance(self):
        return Allowance(self.limits)

    async def _write(self, socket):
        allowance = self.allowance()
        while True:
            if self._bye or not self._has_something_to_say():
                self._wake.clear()
                await self._wake.wait()
                continue
            await allowance.take()
            if self._bye or not self._has_something_to_say():
                continue  # what was to be sent was given up meanwhile
            self._seq += 1
            operation, body = self._next_frame()
            if self._silence is None:
                idle = self.limits["idle"] / 1000
                self._silence = asyncio.get_running_loop().call_later(idle, self.silent)
            try:
                await socket.send(json.dumps({"seq": self._seq, operation: body}))
            except ConnectionClosed:
                return  # it is sent again over the next connection

    def _has_something_to_say(self):
        return self._hello_due or self._suspects or self._unsent or any(not other["seq"] for other in self._requests)

    def _next_frame(self):
        if self._hello_due:
            self._hello_due = False
            return "hello", self.introduction()
        waiting = next((request for request in self._requests if not request["seq"]), None)
        if self._suspects:  # each alone, with a valid frame after it
            self._hello_due = True
            beats = [self._suspects.popleft()]
        elif self._unsent:  # beats first: a read then sees them
            count = self.beats_of_a_frame()
            beats, self._unsent = self._unsent[:count], self._unsent[count:]
        else:
            waiting["seq"] = self._seq
            return waiting["operation"], waiting["body"]()
        self._frames[self._seq] = beats
        return "beats", {"items": beats, **({"flag": self.flag} if self.flag else {})}

    def introduction(self):
        return {"device": self.device, "client": "example/1.0"}

    def beats_of_a_frame(self):
        return self.limits["beats"]

    def silent(self):
        """An answer is owed, and nothing came for too long: the other end is gone."""
        if self._socket:
            self._socket.transport.abort()

    def _heard(self):
        if self._silence:
            self._silence.cancel()
        self._silence = None
        if self.connection and (self._frames or self._requests):
            self._silence = asyncio.get_running_loop().call_later(self.limits["idle"] / 1000, self.silent)

    def _received(self, kind, body):
        """What it does not know it leaves alone."""
        if kind == "ack":
            self.acked(body)
        elif kind == "result":
            self.answered(body)
        elif kind == "error":
            self.failed(body)
        elif kind == "push":
            self.pushed(body)
        elif kind == "bye":
            self._bye = body

    def acked(self, ack):
        self.newer_flag(ack.get("flag"))
        if "now" in ack:
            self.clock.rebase(ack["now"])
        for rejection in ack.get("rejected", []):
            beats = self._frames.get(rejection["seq"], [])
            if rejection["index"] < len(beats):
                self.rejected(beats[rejection["index"]], rejection["reason"], rejection.get("record"))
        for seq in [seq for seq in self._frames if seq <= ack["seq"]]:
            for beat in self._frames.pop(seq):
                self.stored(beat)

    def stored(self, beat):
        if self.outbox.settle(beat):
            self.saw(beat)
            for playback in self.playbacks:
                playback.accepted(beat)

    def rejected(self, beat, reason, record=None):
        """That is an answer, too: the beat is not sent again."""
        self.outbox.settle(beat)
        if record:
            self.saw(record)
        for playback in self.playbacks:
            playback.rejected(beat, reason)
            if reason == "superseded" and record:
                playback.taken_over(record, superseded=True)

    def answered(self, result):
        for request in self._requests:
            if request["seq"] == result["seq"] and not request["answer"].done():
                request["answer"].set_result(result)

    def failed(self, error):
        beats = self._frames.pop(error.get("seq"), None)
        if beats is None:
            for request in self._requests:
                if request["seq"] == error.get("seq") and not request["answer"].done():
                    request["answer"].set_exception(Refused(error["message"]))
        elif not error["retry"] and len(beats) > 1:
            self._suspects.extend(beats)  # only the bad one is lost
            self._wake.set()
        elif not error["retry"]:
            print(f"left out: {error['message']}: {beats[0]}", file=sys.stderr)
            self.outbox.settle(beats[0])

    def pushed(self, push):
        self.newer_flag(push.get("flag"))
        record = push.get("record")
        if record:
            self.saw(record)
            for playback in self.playbacks:
                playback.taken_over(record)

    def newer_flag(self, flag):
        if flag and flag > (self.flag or ""):
            self.flag = flag

    # Where the viewer was.

    async def _find_place(self, playback):
        """Until it is answered, whatever happens in between."""
        wait = 1
        while playback in self.playbacks:
            try:
                records, partial = await self.get([playback.content])
                if records[0] or not partial:
                    return playback.known(records[0])
            except (TimeoutError, Refused):
                pass
            await asyncio.sleep(wait)
            wait = min(30, wait * 2)

    # Over HTTP.

    async def flush(self):
        """Sends what is unanswered, the newest first, and keeps it until that is answered."""
        beats, size = [], len(json.dumps(self._body([])))
        for beat in reversed(self.outbox.sendable()):
            size += len(json.dumps(beat)) + 2
            if size > FLUSH_BYTES_MAX or len(beats) == self.limits["beats"]:
                break
            beats.append(beat)
        return not beats or (self.token is not None and await self._post(beats))

    async def _post(self, beats):
        try:
            answer = await self._request("/v1/beats", self._body(beats))
        except (OSError, ValueError):
            return False
        self.clock.rebase(answer["now"])
        self.outbox.stamp(self.clock)
        self.newer_flag(answer.get("flag"))
        for rejection in answer["rejected"]:
            self.rejected(beats[rejection["index"]], rejection["reason"], rejection.get("record"))
        for beat in beats:
            self.stored(beat)
        return True

    def _body(self, beats):
        return {"items": beats, "device": self.device, "flag": self.flag, "connection": self.connection}

    async def _request(self, path, body):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(self.url + path, json.dumps(body).encode(), headers)
        return await asyncio.to_thread(lambda: json.load(urlopen(request, timeout=CONNECT_SECONDS)))

    async def _post_in_place_of_sockets(self):
        """While no socket can be opened: once per interval, and less often where HTTP fails, too."""
        failed = 0
        while not self.connection:
            done = await self.flush() if self.clock.known else await self._post([])
            for request in [other for other in self._requests if other["operation"] == "get"]:
                try:
                    request["answer"].set_result(await self._request("/v1/history/get", request["body"]()))
                except (OSError, ValueError, asyncio.InvalidStateError):
                    done = False
            failed = 0 if done else failed + 1
            await asyncio.sleep(min(30, self.interval / 1000 * 2**failed))
        self._posting = False
