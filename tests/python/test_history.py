"""Reading and forgetting over one socket, and what the user's other devices are told."""

from python.served import Served
from wire.client import beat, item


class History(Served):
    async def test_a_list_comes_in_pages_newest_first(self):
        client = await self.client()
        now = client.now() - 1_000
        await client.beats(*(beat(oid, now + oid) for oid in range(1, 31)))
        records = await client.list(limit=7)
        self.assertEqual([int(r["oid"]) for r in records], list(range(30, 0, -1)))

    async def test_a_list_neither_repeats_nor_skips_while_beats_arrive(self):
        client = await self.client()
        now = client.now() - 1_000
        await client.beats(*(beat(oid, now + oid) for oid in range(1, 31)))
        seen, asked = [], {"limit": 5}
        while True:
            page = await client.ask(list=asked)
            seen += [int(r["oid"]) for r in page["records"]]
            if "cursor" not in page:
                break
            # What was shown already moves to the top, and a new content comes before it.
            await client.beats(beat(seen[-1], client.now()), beat(100 + len(seen), client.now()))
            asked = {"limit": 5, "cursor": page["cursor"]}
        self.assertEqual(seen, list(range(30, 0, -1)))

    async def test_a_list_can_be_of_some_kinds_and_its_cursor_keeps_them(self):
        client = await self.client()
        now = client.now() - 1_000
        await client.beats(*(beat(oid, now + oid, kind=1 + oid % 3) for oid in range(1, 13)))
        records = await client.list(limit=2, kinds=[1, 3])
        self.assertEqual([int(r["oid"]) for r in records], [12, 11, 9, 8, 6, 5, 3, 2])
        page = await client.ask(list={"limit": 2, "kinds": [1]})
        error = await client.refused(list={"cursor": page["cursor"], "kinds": [2]})
        self.assertEqual(error["code"], "invalid")

    async def test_a_late_beat_does_not_undo_a_delete(self):
        client = await self.client()
        at = client.now()
        await client.beats(beat(1, at - 10), beat(2, at - 10))
        await client.ask(delete={"items": [item(1)], "at": at})
        rejected = await client.beats(beat(1, at), beat(1, at - 5, session="77"))
        self.assertEqual({r["reason"] for r in rejected.values()}, {"superseded"})
        self.assertEqual([r and r["oid"] for r in await client.get(1, 2)], [None, "2"])
        self.assertEqual([r["oid"] for r in await client.list()], ["2"])
        self.assertEqual(await client.beats(beat(1, at + 1)), {})
        self.assertEqual(len(await client.list()), 2)

    async def test_a_clear_forgets_all_up_to_its_moment(self):
        client = await self.client()
        at = client.now()
        await client.beats(beat(1, at - 10), beat(2, at), beat(3, at + 1))
        await client.ask(clear={"at": at})
        self.assertEqual([r["oid"] for r in await client.list()], ["3"])
        self.assertEqual((await client.beats(beat(4, at)))[0]["reason"], "superseded")

    async def test_a_delete_or_clear_far_ahead_is_invalid(self):
        client = await self.client()
        error = await client.refused(delete={"items": [item(1)], "at": client.now() + 60_000})
        self.assertEqual(error["code"], "invalid")

    async def test_beats_played_in_a_pause_are_not_recorded(self):
        client = await self.client()
        pause = client.now() - 100
        asked = await client.ask(recording={"paused": True, "at": pause})
        self.assertEqual(asked["recording"], {"paused": True})
        again = await self.client()
        self.assertEqual(again.welcome["recording"], {"paused": True})
        await client.ask(recording={"paused": False, "at": pause + 50})
        # The interval is closed at both ends.
        beats = [beat(n, pause + after) for n, after in enumerate((-1, 0, 50, 51))]
        rejected = await client.beats(*beats)
        self.assertEqual({i: r["reason"] for i, r in rejected.items()}, {1: "not_recording", 2: "not_recording"})
        self.assertEqual([r and r["oid"] for r in await client.get(0, 1, 2, 3)], ["0", None, None, "3"])

    async def test_sessions_do_not_share_a_slot(self):
        client = await self.client()
        pause = client.now() - 100
        await client.ask(recording={"paused": True, "at": pause})
        rejected = await client.beats(beat(1, pause - 10, session="5"), beat(1, pause + 10, session="6"))
        self.assertEqual({i: r["reason"] for i, r in rejected.items()}, {1: "not_recording"})
        [record] = await client.get(1)
        self.assertEqual((record["at"], record["session"]), (pause - 10, "5"))

    async def test_no_user_reads_or_deletes_records_of_another(self):
        mine, theirs = await self.client(), await self.client(self.mid + 1_000_000)
        await mine.beats(beat(1, mine.now()))
        self.assertEqual(await theirs.get(1), [None])
        self.assertEqual(await theirs.list(), [])
        await theirs.ask(clear={"at": theirs.now()})
        await theirs.ask(delete={"items": [item(1)], "at": theirs.now()})
        self.assertEqual(len(await mine.list()), 1)

    async def test_the_other_device_gets_a_push_and_the_origin_does_not(self):
        phone, tv = await self.client(device="phone"), await self.client(device="tv")
        at = phone.now()
        await phone.beats(beat(1, at))
        pushed = (await tv.frame("push"))[1]["record"]
        self.assertEqual((pushed["oid"], pushed["pos"], pushed["device"]), ("1", 73_200, "phone"))
        await phone.ask(delete={"items": [item(1)], "at": at})
        self.assertEqual((await tv.frame("push"))[1], {"deleted": [item(1)], "at": at})
        await phone.ask(clear={"at": at + 1})
        self.assertEqual((await tv.frame("push"))[1], {"cleared": True, "at": at + 1})
        await phone.ask(recording={"paused": True, "at": at + 2})
        self.assertEqual((await tv.frame("push"))[1], {"recording": {"paused": True}})
        self.assertEqual(phone.untaken("push"), [])
