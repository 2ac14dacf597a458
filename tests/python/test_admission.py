"""The three places of the token, and what each says to a bad one."""

import asyncio
import json

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from python.served import Served
from wire.client import Client
from wire.dial import OPTIONS, PLACES, SUBPROTOCOL
from wire.http import call, control
from wire.patience import PATIENCE_SECONDS
from wire.tokens import token

OTHER_KEY = "another-key-that-the-gateway-was-never-told-of"


class AdmissionTest(Served):
    async def connect(self, path="/v1/connect", subprotocols=(SUBPROTOCOL,), **headers):
        socket = await connect(
            self.served.ws + path, subprotocols=list(subprotocols), additional_headers=headers, **OPTIONS
        )
        self.addAsyncCleanup(socket.close)
        return socket

    async def close_code_of(self, socket):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await socket.wait_closed()
        return socket.close_code


class Silence(AdmissionTest):
    settings = {"SOCKET__HELLO_TIMEOUT": "1s"}

    async def test_no_hello_in_time_closes(self):
        self.assertEqual(await self.close_code_of(await self.connect()), 4001)


class Admission(AdmissionTest):
    async def status_of(self, *args, **kwargs):
        with self.assertRaises(InvalidStatus) as refused:
            await self.connect(*args, **kwargs)
        return refused.exception.response.status_code

    async def test_each_place_of_the_token_is_welcomed_as_its_user(self):
        for place in PLACES:
            with self.subTest(place):
                client = await self.client(place=place)
                self.assertEqual(client.welcome["mid"], str(self.mid))
                self.assertEqual(client.welcome["interval"], 5000)
                self.assertEqual(client.welcome["recording"], {"paused": False})
                self.assertEqual(client.welcome["limits"]["beats"], 500)
                self.assertEqual(client.socket.subprotocol, SUBPROTOCOL)

    async def test_without_a_subprotocol_the_socket_speaks_json(self):
        socket = await connect(
            f"{self.served.ws}/v1/connect", additional_headers={"Authorization": f"Bearer {token(7)}"}, **OPTIONS
        )
        self.addAsyncCleanup(socket.close)
        self.assertIsNone(socket.subprotocol)
        self.assertIn("welcome", json.loads(await socket.recv()))

    async def test_a_bad_token_in_the_header_is_401(self):
        for bad in (token(7, key=OTHER_KEY), token(7, ttl=-60), token("-7"), "nonsense"):
            self.assertEqual(await self.status_of(Authorization=f"Bearer {bad}"), 401)

    async def test_a_bad_token_elsewhere_closes_after_the_upgrade(self):
        for bad, code in ((token(7, key=OTHER_KEY), 4001), (token(7, ttl=-60), 4002), (token("+7"), 4001)):
            with self.subTest(code):
                offered = await self.connect(subprotocols=(SUBPROTOCOL, f"heartline.token.{bad}"))
                self.assertEqual(await self.close_code_of(offered), code)
                hello = await self.connect()
                await hello.send(json.dumps({"seq": 1, "hello": {"token": bad}}))
                self.assertEqual(await self.close_code_of(hello), code)

    async def test_anything_before_the_welcome_but_a_hello_closes(self):
        socket = await self.connect()
        await socket.send(json.dumps({"seq": 1, "list": {}}))
        self.assertEqual(await self.close_code_of(socket), 4001)

    async def test_a_token_in_the_url_is_refused(self):
        self.assertEqual(await self.status_of(f"/v1/connect?token={token(7)}"), 400)
        answer = call(self.served.http, "GET", f"/v1/history?access_token={token(7)}")
        self.assertEqual(answer.status, 400)

    async def test_only_unknown_subprotocols_are_refused(self):
        bearer = f"Bearer {token(7)}"
        self.assertEqual(await self.status_of(subprotocols=("chat",), Authorization=bearer), 400)
        self.assertEqual(await self.status_of(subprotocols=(f"heartline.token.{token(7)}",)), 400)

    async def test_a_foreign_origin_is_refused(self):
        bearer = f"Bearer {token(7)}"
        self.assertEqual(await self.status_of(Authorization=bearer, Origin="https://elsewhere.example"), 403)
        self.assertEqual(await self.status_of(Authorization=bearer, Origin="null"), 403)
        await self.connect(Authorization=bearer, Origin=self.served.http)

    async def test_a_renewal_moves_the_end_and_keeps_the_user(self):
        client = await self.client()
        renewed = await client.ask(token={"token": token(self.mid, ttl=7200)})
        self.assertGreater(renewed["expires"], client.welcome["expires"])
        error = await client.refused(token={"token": token(self.mid + 1)})
        self.assertEqual(error["code"], "unauthorized")
        self.assertEqual(await client.get(1), [None])

    async def test_a_kick_closes_and_refuses_for_a_while(self):
        client = await Client.open(self.served, self.mid)
        answer = control(self.served, "POST", "/v1/kick", body={"mid": str(self.mid)})
        self.assertEqual(answer.status, 204)
        self.assertEqual(await client.closed(), 4003)
        self.assertEqual(await self.status_of(Authorization=f"Bearer {token(self.mid)}"), 403)
