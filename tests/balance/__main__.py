"""`python -m balance BINARY`: to which of two real gateways the deployed HAProxy sends each user.

Each gateway has a store of its own and is known by a limit in its welcome: what is tried is the way there, and nothing
that gateways share. Clients have many addresses, which the gateways must see.
"""

import argparse
import asyncio
import collections
import sys
from pathlib import Path

import jwt
from websockets.exceptions import ConnectionClosed, InvalidStatus

from balance.balancer import CONFIGURATION
from balance.pair import MARKS, Pair, address_of, expect
from wire.client import Client, beat
from wire.dial import SUBPROTOCOL
from wire.http import call
from wire.tokens import KEY, token

USERS = 150
FIRST_MID = 18_446_744_073_709_500_000  # beyond what a double holds
SOCKETS_PER_ADDRESS = 4
# The smaller share of 150 users on two gateways: far below it, the hash does not spread.
SHARE_MIN = 0.35
OTHER_KEY = "a-key-that-no-gateway-has-and-that-is-long-enough"


class Proof(Pair):
    """The pair, and the users who are sent to one or the other."""

    def __init__(self, binary, configuration):
        super().__init__(binary, configuration, LIMITS__CONNECTIONS_PER_ADDRESS=SOCKETS_PER_ADDRESS)
        self.mids = [FIRST_MID + n for n in range(USERS)]

    async def place(self, mid, address=None, **way):
        """The gateway that one socket of this user came to; the socket is closed."""
        socket, welcome, name = await self.open(address or self.address(mid), **way)
        await socket.close()
        expect(welcome["mid"] == str(mid), f"{mid} was welcomed as {welcome['mid']}")
        return name

    def address(self, mid, way=0):
        return address_of(mid - FIRST_MID, 10 + way)

    def ways(self, mid):
        """All ways to give a token, with two tokens of this user, and once a stranger's beside it."""
        one, other = token(mid), token(mid, ttl=7200, jti="another", aud=["a", "b"])
        stranger = token(mid + 1_000)
        return [
            {"headers": bearer(mid)},
            {"headers": {"authorization": f"bearer {other}"}},
            {"offered": [SUBPROTOCOL, f"heartline.token.{one}"]},
            {"offered": [f"heartline.token.{other}", SUBPROTOCOL]},
            {"headers": {"Authorization": f"Bearer {one}"}, "offered": [SUBPROTOCOL, f"heartline.token.{stranger}"]},
        ]

    async def places(self):
        """Where each user goes, by all ways, each from another address."""
        places = {}
        for mid in self.mids:
            ways = enumerate(self.ways(mid))
            came = [await self.place(mid, self.address(mid, number), **way) for number, way in ways]
            expect(len(set(came)) == 1, f"user {mid} came to {came}")
            places[mid] = came[0]
        return places


def bearer(mid):
    return {"Authorization": f"Bearer {token(mid)}"}


async def one_gateway_for_each_user(proof):
    places = await proof.places()
    shares = collections.Counter(places.values())
    smaller = min(shares[name] for name in MARKS.values()) / USERS
    expect(smaller >= SHARE_MIN, f"{shares}: one gateway has nearly all")
    return places, f"{USERS} users by {len(proof.ways(1))} ways: one gateway each; {dict(shares)}"


async def requests_go_where_sockets_go(proof):
    """The stores are apart: only the gateway that took the beat has the record."""
    for mid in proof.mids[:30]:
        socket, welcome, _ = await proof.open(proof.address(mid), bearer(mid))
        async with Client(socket, welcome, 0) as client:
            await client.beats(beat(7, client.now()))
        records = call(proof.balancer.http, "GET", "/v1/history", mid).json()["records"]
        expect([record["oid"] for record in records] == ["7"], f"user {mid} has {records}")
    return "requests over HTTP find what was sent over sockets"


async def a_hello_goes_by_address(proof):
    came = collections.Counter()
    for mid in proof.mids[:60]:
        places = {await proof.place(mid, hello=token(mid)), await proof.place(mid, hello=token(mid))}
        expect(len(places) == 1, f"one address came to {places}")
        came.update(places)
    expect(set(came) == set(MARKS.values()), f"all addresses came to {came}")
    return f"tokens in a hello: by address, {dict(came)}"


async def forged_tokens_are_refused_by_the_gateway(proof):
    mid, address = proof.mids[0], proof.address(proof.mids[0])
    unsigned = jwt.encode({"sub": str(mid), "exp": 1 << 32}, None, algorithm="none")
    bad = [(token(mid, key=OTHER_KEY), 4001), (unsigned, 4001), ("nothing.of.this", 4001), (token(mid, ttl=-60), 4002)]
    for forged, code in bad:
        try:
            await proof.open(address, {"Authorization": f"Bearer {forged}"})
            raise AssertionError("a forged token was welcomed")
        except InvalidStatus as refused:
            answer = refused.response
            expect(answer.status_code == 401, f"a forged token was answered {answer.status_code}")
            expect(answer.headers["WWW-Authenticate"].startswith("Bearer"), "the 401 is not the gateway's")
        try:
            await proof.open(address, offered=[SUBPROTOCOL, f"heartline.token.{forged}"])
            raise AssertionError("a forged token was welcomed")
        except ConnectionClosed as closed:
            expect(closed.rcvd.code == code, f"closed with {closed.rcvd.code}, not {code}")
    return "forged, unsigned, expired and senseless tokens: the gateway's own 401, 4001 and 4002"


async def the_gateway_sees_the_address(proof):
    """Its limit for each address holds for each client, and not for HAProxy."""
    mid, here, elsewhere = proof.mids[0], "127.4.0.1", "127.4.0.2"
    claim = {**bearer(mid), "X-Forwarded-For": elsewhere}
    sockets = [(await proof.open(here, claim))[0] for _ in range(SOCKETS_PER_ADDRESS)]
    try:
        try:
            await proof.open(here, claim)
            raise AssertionError("one address has more sockets than it may")
        except InvalidStatus as refused:
            expect(refused.response.status_code == 429, f"answered {refused.response.status_code}, not 429")
        sockets.append((await proof.open(elsewhere, claim))[0])
    finally:
        for socket in sockets:
            await socket.close()
    return f"the limit of an address is that of the client's: {SOCKETS_PER_ADDRESS} sockets, then 429; another has room"


async def only_the_users_of_a_gateway_that_leaves_move(proof, before):
    """Stopped, and back: sockets that are open on the other one do not notice."""
    leaving, staying = MARKS.values()
    at_rest = next(mid for mid, name in before.items() if name == staying)
    socket, welcome, _ = await proof.open("127.5.0.1", bearer(at_rest))
    async with Client(socket, welcome, 0) as client:
        code = proof.gateways[leaving].stop()
        expect(code == 0, f"the gateway ended with {code}")
        # Before HAProxy has seen it: a refused connection goes on to the other one.
        moved_at_once = [mid for mid in proof.mids if before[mid] == leaving][:20]
        for mid in moved_at_once:
            came = await proof.place(mid, **proof.ways(mid)[0])
            expect(came == staying, f"user {mid} came to {came}, which has stopped")
        proof.balancer.wait_until(staying)
        during = await proof.places()
        moved = [mid for mid in proof.mids if during[mid] != before[mid]]
        expect(set(during.values()) == {staying}, "somebody came to a gateway that has stopped")
        expect(all(before[mid] == leaving for mid in moved), "somebody moved without need")
        await client.get(7)

        proof.gateways[leaving].start()
        proof.balancer.wait_until(*MARKS.values())
        after = await proof.places()
        strayed = [mid for mid in proof.mids if after[mid] != before[mid]]
        expect(not strayed, f"{len(strayed)} users are not where they were")
        await client.get(7)
    return f"{leaving} stopped: its {len(moved)} users moved and no other; back: all are where they were"


async def prove(proof):
    places, said = await one_gateway_for_each_user(proof)
    print(said, flush=True)
    for part in (
        requests_go_where_sockets_go,
        a_hello_goes_by_address,
        forged_tokens_are_refused_by_the_gateway,
        the_gateway_sees_the_address,
    ):
        print(await part(proof), flush=True)
    print(await only_the_users_of_a_gateway_that_leaves_move(proof, places), flush=True)
    for name, gateway in proof.gateways.items():
        expect(KEY not in gateway.stderr(), f"the key is in the log of {name}")
    log = Path(proof.balancer.log).read_text()
    expect("/v1/connect" in log and "eyJ" not in log, "the log of HAProxy shows no request, or a token")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--configuration", type=Path, default=CONFIGURATION, help="another haproxy.cfg")
    args = parser.parse_args()
    with Proof(args.binary, args.configuration) as proof:
        asyncio.run(prove(proof))


if __name__ == "__main__":
    sys.exit(main())
