"""The same over HTTP, with problem documents for everything that goes wrong."""

from python.served import Served
from wire.client import beat, item
from wire.http import call
from wire.tokens import token

ORIGIN = "https://app.example"


class Http(Served):
    settings = {"SERVER__ORIGINS": f'["{ORIGIN}"]'}

    def call(self, method, path, body=None, **options):
        return call(self.served.http, method, path, mid=self.mid, body=body, **options)

    def assertProblem(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        problem = answer.json()
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["type"].endswith(code), problem)
        self.assertTrue(problem["title"])

    async def now(self):
        return (await self.client()).now()

    async def test_beats_are_answered_after_their_commit_and_read_back(self):
        now = await self.now()
        answer = self.call("POST", "/v1/beats", {"items": [beat(1, now), beat(2, now + 60_000)], "device": "web"})
        self.assertEqual(answer.status, 200)
        self.assertEqual([(r["index"], r["reason"]) for r in answer.json()["rejected"]], [(1, "clock")])
        self.assertGreaterEqual(answer.json()["now"], now)
        record = self.call("GET", "/v1/history/1/1").json()
        self.assertEqual((record["pos"], record["device"]), (73_200, "web"))
        got = self.call("POST", "/v1/history/get", {"items": [item(1), item(2)]}).json()
        self.assertEqual(got, {"records": [record, None]})

    async def test_history_comes_in_pages(self):
        now = await self.now() - 1_000
        self.call("POST", "/v1/beats", {"items": [beat(oid, now + oid) for oid in range(1, 10)]})
        oids, cursor = [], ""
        while cursor is not None:
            page = self.call("GET", f"/v1/history?limit=4&kinds=1,3{cursor and '&cursor=' + cursor}").json()
            oids += [int(r["oid"]) for r in page["records"]]
            cursor = page.get("cursor")
        self.assertEqual(oids, list(range(9, 0, -1)))

    async def test_deletes_and_clears_are_pushed_to_the_sockets(self):
        client = await self.client()
        now = client.now()
        await client.beats(beat(1, now), beat(2, now), beat(3, now))
        self.assertEqual(self.call("DELETE", "/v1/history/1/1").status, 204)
        self.assertEqual((await client.frame("push"))[1]["deleted"], [item(1)])
        self.assertProblem(self.call("GET", "/v1/history/1/1"), 404, "not_found")
        self.assertEqual(self.call("DELETE", f"/v1/history/1/2?at={now - 1}").status, 204)
        self.assertEqual(self.call("GET", "/v1/history/1/2").status, 200)
        self.assertEqual(self.call("DELETE", "/v1/history").status, 204)
        self.assertEqual(self.call("GET", "/v1/history").json()["records"], [])

    async def test_recording_can_be_paused(self):
        self.assertEqual(self.call("GET", "/v1/recording").json(), {"paused": False})
        self.assertEqual(self.call("PUT", "/v1/recording", {"paused": True}).json(), {"paused": True})
        self.assertEqual(self.call("GET", "/v1/recording").json(), {"paused": True})

    async def test_problems_are_documents(self):
        http = self.served.http
        now = await self.now()
        bad = beat(1, now, pos=-1)
        self.assertProblem(call(http, "GET", "/v1/history"), 401, "unauthorized")
        self.assertEqual(call(http, "GET", "/v1/history").headers["WWW-Authenticate"].split()[0], "Bearer")
        self.assertProblem(self.call("GET", "/v1/nothing"), 404, "not_found")
        self.assertProblem(self.call("POST", "/v1/history"), 405, "method")
        self.assertProblem(self.call("POST", "/v1/beats", {"items": [bad]}), 400, "invalid")
        self.assertProblem(self.call("POST", "/v1/beats", b"{"), 415, "media_type")
        json_type = {"Content-Type": "application/json"}
        self.assertProblem(self.call("POST", "/v1/beats", b"{", headers=json_type), 400, "invalid")
        too_large = b" " * (4 << 20)
        self.assertProblem(self.call("POST", "/v1/beats", too_large, headers=json_type), 413, "too_large")
        self.assertProblem(self.call("POST", "/v1/beats", {"items": [beat(1, now)] * 501}), 400, "too_many")
        self.assertProblem(self.call("GET", "/v1/history?limit=0"), 400, "invalid")

    async def test_cors_follows_the_origins(self):
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        preflight = call(self.served.http, "OPTIONS", "/v1/beats", headers={"Origin": ORIGIN, **asked})
        self.assertIn(preflight.status, (200, 204))
        self.assertEqual(preflight.headers["Access-Control-Allow-Origin"], ORIGIN)
        foreign = call(self.served.http, "OPTIONS", "/v1/beats", headers={"Origin": "https://x.example", **asked})
        self.assertIsNone(foreign.headers["Access-Control-Allow-Origin"])

    async def test_the_probe_listener_shows_health_and_metrics(self):
        admin = self.served.admin
        self.assertEqual(call(admin, "GET", "/healthz").status, 200)
        self.assertEqual(call(admin, "GET", "/readyz").status, 200)
        before = _auth_checks(admin)
        client = await self.client()
        await client.beats(beat(1, client.now()))
        await client.get(1)
        await client.list()
        self.assertEqual(_auth_checks(admin) - before, 1)
        self.assertNotIn(token(self.mid).split(".")[0], self.served.stderr())


def _auth_checks(admin):
    metrics = call(admin, "GET", "/metrics").text
    ok = [line for line in metrics.splitlines() if line.startswith('heartline_auth_checks_total{result="ok"}')]
    return float(ok[0].split()[-1])
