"""Opens one socket, with the token in one of the three places the protocol allows."""

import json

from websockets.asyncio.client import connect

from wire.patience import PATIENCE_SECONDS

SUBPROTOCOL = "heartline.v1.json"
PLACES = ("header", "subprotocol", "hello")

# Frames are small and many: compression would only cost, and the gateway does the pinging. A gateway that no client names its
# agent to starts sooner.
OPTIONS = {
    "compression": None,
    "user_agent_header": None,
    "ping_interval": None,
    "open_timeout": PATIENCE_SECONDS,
    "close_timeout": 2,
    "max_queue": 1024,
    "proxy": None,
}


class GoingAway(Exception):
    """The gateway said `bye` to a socket that had just come."""


async def dial(url, token, place="header", device="", ack_delay=0, **options):
    """The open socket, its welcome, and the last `seq` used (a `hello` names the device). `ack_delay`: milliseconds."""
    headers, offered = {}, [SUBPROTOCOL]
    hello = {"device": device, "client": "heartline-tests/1"}
    if ack_delay:
        hello["ack_delay"] = ack_delay
    if place == "header":
        headers["Authorization"] = f"Bearer {token}"
    elif place == "subprotocol":
        offered.append(f"heartline.token.{token}")
    else:
        hello["token"] = token
    socket = await connect(
        f"{url}/v1/connect", additional_headers=headers, subprotocols=offered, **{**OPTIONS, **options}
    )
    try:
        await socket.send(json.dumps({"seq": 1, "hello": hello}))
        welcome = await _frame(socket, "welcome")
        if place != "hello":
            await _frame(socket, "result")
    except BaseException:
        socket.transport.abort()
        raise
    return socket, welcome, 1


async def _frame(socket, name):
    """The first frames of a connection are known; a push of another device may come between them."""
    while True:
        frame = json.loads(await socket.recv())
        if name in frame:
            return frame[name]
        if "bye" in frame:
            raise GoingAway(frame["bye"])
        if "push" not in frame:
            raise RuntimeError(f"expected {name}, got {frame}")
