"""One HTTP request with the standard library, the answer whatever its status."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass

from wire.patience import PATIENCE_SECONDS
from wire.tokens import CONTROL_TOKEN, token


@dataclass
class Answer:
    status: int
    headers: object
    text: str

    def json(self):
        return json.loads(self.text)


def call(base, method, path, mid=None, body=None, headers=()):
    """`body` is sent as JSON unless it is bytes; `mid` asks with a token of that user."""
    headers = dict(headers)
    if mid is not None:
        headers["Authorization"] = f"Bearer {token(mid)}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    request = urllib.request.Request(base + path, method=method, data=body, headers=headers)
    # No proxy of the environment may come between a test and its own machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        answer = opener.open(request, timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return Answer(answer.status, answer.headers, answer.read().decode())


def control(gateway, method, path, body=None):
    """A call of its control listener, with the token."""
    return call(gateway.control, method, path, body=body, headers={"Authorization": f"Bearer {CONTROL_TOKEN}"})
