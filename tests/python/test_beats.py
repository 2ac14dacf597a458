"""Beats over one socket: acked, read back, resent, rejected, answered when malformed."""

import json

from python.served import Served
from wire.client import beat
from wire.dial import PLACES


class Beats(Served):
    async def test_acked_beats_are_read_back_with_the_token_in_each_place(self):
        for number, place in enumerate(PLACES):
            with self.subTest(place):
                client = await self.client(place=place, device=f"tv-{place}")
                sent = beat(100 + number, client.now())
                self.assertEqual(await client.beats(sent), {})
                [record] = await client.get(100 + number)
                rate = sent.pop("rate")
                self.assertEqual(rate, 1.0)
                self.assertEqual({name: record[name] for name in sent}, sent)
                self.assertEqual(record["device"], f"tv-{place}")
                self.assertAlmostEqual(record["progress"], 0.244, places=3)
                self.assertEqual((record["finished"], record["resume"]), (False, 73_200))

    async def test_the_largest_ids_survive(self):
        client = await self.client()
        largest = str(2**64 - 1)
        self.assertEqual(await client.beats(beat(largest, client.now(), kind=65_535, session=largest)), {})
        [record] = await client.get(largest, kind=65_535)
        self.assertEqual((record["kind"], record["oid"], record["session"]), (65_535, largest, largest))

    async def test_a_resend_changes_nothing_and_an_older_beat_is_superseded(self):
        client = await self.client()
        at = client.now()
        old, new = beat(1, at, pos=1_000), beat(1, at + 1, pos=2_000)
        self.assertEqual(await client.beats(new), {})
        self.assertEqual(await client.beats(new), {})
        rejected = await client.beats(old)
        self.assertEqual(rejected[0]["reason"], "superseded")
        self.assertEqual(rejected[0]["record"]["pos"], 2_000)
        [record] = await client.get(1)
        self.assertEqual(record["pos"], 2_000)

    async def test_of_two_sessions_at_one_moment_the_greater_wins_in_either_order(self):
        client = await self.client()
        at = client.now()
        for oid, sessions in ((1, ("9", "10")), (2, ("10", "9"))):
            for session in sessions:
                await client.beats(beat(oid, at, session=session))
            [record] = await client.get(oid)
            self.assertEqual(record["session"], "10")

    async def test_each_rejection_has_a_reason_and_other_beats_apply(self):
        client = await self.client()
        now, day = client.now(), 86_400_000
        rejected = await client.beats(
            beat(1, now, rate=-1),
            beat(2, now, rate=17),
            beat(3, now + 60_000),
            beat(4, now - 91 * day),
            beat(5, now, state="paused", watched=0),
            beat(6, now),
        )
        reasons = {index: r["reason"] for index, r in rejected.items()}
        self.assertEqual(reasons, {0: "invalid", 1: "invalid", 2: "clock", 3: "expired", 4: "not_started"})
        self.assertEqual([r and r["oid"] for r in await client.get(1, 2, 3, 4, 5, 6)], [None] * 5 + ["6"])

    async def test_acks_are_cumulative(self):
        client = await self.client()
        for n in range(50):
            last = await client.send(beats={"items": [beat(n % 5, client.now() + n)]})
        acked = []
        while not acked or acked[-1] < last:
            acked.append((await client.frame("ack"))[1]["seq"])
        self.assertEqual(acked, sorted(acked))
        self.assertEqual(acked[-1], last)

    async def test_a_malformed_frame_is_answered_and_the_connection_lives(self):
        client = await self.client()
        good = beat(1, client.now())
        malformed = {
            "beats.items[0].pos": {"beats": {"items": [{**good, "pos": -1}]}},
            "beats.items[1].state": {"beats": {"items": [good, {**good, "state": "dancing"}]}},
            "list.limit": {"list": {"limit": 0}},
        }
        for path, operation in malformed.items():
            error = await client.refused(**operation)
            self.assertEqual((error["code"], error["retry"]), ("invalid", False))
            self.assertTrue(error["message"].startswith(path), error["message"])
            self.assertEqual(await client.get(1), [None])  # and the count of faults in a row ends
        error = await client.refused(dance={})
        self.assertEqual(error["code"], "unknown_operation")
        error = await client.refused(beats={"items": [good] * 501})
        self.assertEqual(error["code"], "too_many")

    async def test_the_third_invalid_frame_in_a_row_closes(self):
        client = await self.client()
        for _ in range(3):
            await client.socket.send(json.dumps({"seq": 0, "list": {}}))
        for _ in range(3):
            self.assertEqual((await client.frame("error"))[1]["code"], "invalid")
        self.assertEqual(await client.closed(), 4000)
