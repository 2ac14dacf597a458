"""Every operation of the service, by a client that is not the gateway's."""

import re
import time

import grpc
from google.rpc import error_details_pb2, status_pb2

from back_ends.stubs import api, service, types
from python.served import Served
from wire.client import beat as socket_beat
from wire.http import call as http
from wire.metrics import metrics
from wire.patience import until
from wire.tokens import token

BOTH = "heartline.read heartline.write"
LISTENS = re.compile(r"^grpc listener: http://(\S+)$", re.M)


def content(oid):
    return types.Content(kind=1, oid=oid)


def beat(oid, at, **fields):
    fields = {"kind": 1, "pos": 73_200, "state": types.STATE_PLAYING, "session": 1, "watched": 5_000, **fields}
    return types.Beat(oid=oid, at=at, **fields)


class Called(Served):
    """A gateway with a caller that may read and write."""

    settings = {"GRPC__LISTEN": "127.0.0.1:0"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = LISTENS.search(cls.served.printed).group(1)
        cls.channel = grpc.insecure_channel(cls.address)
        cls.addClassCleanup(cls.channel.close)
        cls.stub = service.HistoryStub(cls.channel)

    def call(self, method, request, scope=BOTH, seconds=10, bearer=None):
        bearer = bearer or token("ranker", scope=scope)
        return getattr(self.stub, method)(request, timeout=seconds, metadata=[("authorization", f"Bearer {bearer}")])

    def refused(self, code, method, request, **options):
        with self.assertRaises(grpc.RpcError) as refused:
            self.call(method, request, **options)
        self.assertEqual(refused.exception.code(), code, refused.exception)
        return refused.exception

    def now(self):
        return self.call("Open", api.OpenRequest(mid=self.mid)).now

    def put(self, *beats, **entry):
        users = [api.UserBeats(mid=self.mid, items=beats, **entry)]
        return self.call("Put", api.PutRequest(users=users)).users[0]


class History(Called):
    def test_a_batch_is_committed_and_read_by_every_interface(self):
        now = self.now()
        users = [
            api.UserBeats(mid=self.mid, device="tv", items=[beat(1, now), beat(2, now + 60_000)]),
            api.UserBeats(mid=self.mid + 500_000, items=[beat(1, now)]),
        ]
        answer = self.call("Put", api.PutRequest(users=users))
        self.assertEqual([user.mid for user in answer.users], [self.mid, self.mid + 500_000])
        rejected = [(r.index, r.reason) for r in answer.users[0].rejected]
        self.assertEqual(rejected, [(1, types.REASON_CLOCK)])
        self.assertEqual(list(answer.users[0].changed), [0])
        self.assertGreaterEqual(answer.now, now)
        got = self.call("Get", api.GetRequest(mid=self.mid, items=[content(1), content(2)]))
        self.assertEqual([slot.HasField("record") for slot in got.records], [True, False])
        record = got.records[0].record
        self.assertEqual((record.pos, record.device, record.resume), (73_200, "tv", 73_200))
        over_http = http(self.served.http, "GET", "/v1/history/1/1", mid=self.mid).json()
        self.assertEqual((over_http["at"], over_http["device"]), (now, "tv"))

    def test_lists_come_in_pages(self):
        now = self.now() - 1_000
        self.put(*(beat(oid, now + oid) for oid in range(1, 10)))
        oids, cursor = [], ""
        while True:
            page = self.call("List", api.ListRequest(mid=self.mid, limit=4, cursor=cursor))
            oids += [record.oid for record in page.records]
            cursor = page.cursor
            if not cursor:
                break
        self.assertEqual(oids, list(range(9, 0, -1)))

    async def test_sockets_are_told_and_their_beats_are_read(self):
        client = await self.client()
        await client.beats(socket_beat(7, client.now()))
        self.assertTrue(self.call("Get", api.GetRequest(mid=self.mid, items=[content(7)])).records[0].HasField("record"))
        self.put(beat(8, client.now()))
        self.assertEqual((await client.frame("push"))[1]["record"]["oid"], "8")

    def test_forgetting_says_up_to_when(self):
        now = self.now()
        self.put(beat(1, now), beat(2, now))
        deleted = self.call("Delete", api.DeleteRequest(mid=self.mid, items=[content(1)], at=now))
        self.assertEqual(deleted.at, now)
        self.assertEqual([r.oid for r in self.call("List", api.ListRequest(mid=self.mid)).records], [2])
        self.assertGreaterEqual(self.call("Clear", api.ClearRequest(mid=self.mid)).at, now)
        self.assertEqual(list(self.call("List", api.ListRequest(mid=self.mid)).records), [])

    def test_recording_is_paused_and_resumed(self):
        switch = lambda paused: self.call("SetRecording", api.SetRecordingRequest(mid=self.mid, paused=paused))
        self.assertTrue(switch(True).paused)
        self.assertTrue(self.call("GetRecording", api.GetRecordingRequest(mid=self.mid)).paused)
        self.assertTrue(self.call("Open", api.OpenRequest(mid=self.mid)).paused)
        refused = self.put(beat(1, self.now() + 1)).rejected
        self.assertEqual([r.reason for r in refused], [types.REASON_NOT_RECORDING])
        self.assertFalse(switch(False).paused)

    def test_rewards_are_told(self):
        rewards = self.call("Rewards", api.RewardsRequest(mid=self.mid))
        self.assertEqual((rewards.day, list(rewards.rewards)), (self.call("Open", api.OpenRequest(mid=self.mid)).today, []))

    def test_users_are_listed(self):
        self.put(beat(1, self.now()))
        users = self.call("Users", api.UsersRequest(after=self.mid - 1, limit=1)).users
        self.assertEqual([user.mid for user in users], [self.mid])

    def test_only_callers_with_the_scope_are_served(self):
        open_ = api.OpenRequest(mid=self.mid)
        unauthenticated, denied = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
        with self.assertRaises(grpc.RpcError) as refused:
            self.stub.Open(open_, timeout=10)
        self.assertEqual(refused.exception.code(), unauthenticated)
        expired = token("ranker", ttl=-60, scope=BOTH)
        self.assertEqual(self.refused(unauthenticated, "Open", open_, bearer=expired).details(), "expired")
        forged = token("ranker", key="x" * 40, scope=BOTH)
        self.refused(unauthenticated, "Open", open_, bearer=forged)
        self.refused(denied, "Open", open_, bearer=token(self.mid))
        self.refused(denied, "Put", api.PutRequest(), scope="heartline.read")
        self.refused(denied, "Get", api.GetRequest(mid=1), scope="heartline.write")

    def test_what_is_wrong_is_named(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        bad = api.PutRequest(users=[api.UserBeats(mid=1, items=[types.Beat(kind=1, oid=1)])])
        self.assertEqual(self.refused(invalid, "Put", bad).details(), "users[0].items[0].pos: is missing")
        long = api.PutRequest(users=[api.UserBeats(mid=1, flag="x" * (5 << 20))])
        self.refused(grpc.StatusCode.OUT_OF_RANGE, "Put", long)


class Crowded(Called):
    """One call at a time."""

    settings = {**Called.settings, "LIMITS__GRPC_CALLS": "1", "GRPC__DEADLINE": "2s"}

    def test_overload_says_when_to_try_again_and_deadlines_are_kept(self):
        # A call whose message does not come holds the only place.
        hold = self.channel.stream_unary("/heartline.v1.History/Put", lambda message: message, lambda message: message)
        metadata = [("authorization", f"Bearer {token('ranker', scope=BOTH)}")]
        began = time.monotonic()
        held = hold.future(never(), metadata=metadata)
        until("it has the place", lambda: "\nheartline_grpc_calls_in_progress 1\n" in metrics(self.served))
        refused = self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "Open", api.OpenRequest(mid=self.mid))
        self.assertEqual(retry_after(refused), 1.0)
        self.assertEqual(held.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - began, 10)
        self.call("Open", api.OpenRequest(mid=self.mid))


def never():
    time.sleep(3)
    yield from ()


def retry_after(error):
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    info = error_details_pb2.RetryInfo()
    if not status_pb2.Status.FromString(details).details[0].Unpack(info):
        raise AssertionError("the first detail is no RetryInfo")
    return info.retry_delay.ToTimedelta().total_seconds()
