"""Connections that are kept from one request to the next, one for each address. They are of one thread."""

import http.client
import json
from urllib.parse import urlsplit

from wire.patience import PATIENCE_SECONDS
from wire.tokens import CONTROL_TOKEN, token


class Kept:
    def __init__(self):
        self._connections = {}

    def ask(self, base, method, path, mid=None, body=None):
        """Status and text, with a token of the user, or of the control listener; 0: there was no answer."""
        bearer = CONTROL_TOKEN if mid is None else token(mid)
        headers = {"Authorization": f"Bearer {bearer}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection(urlsplit(base))
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            # The next request connects again.
            connection.close()
            return 0, b""

    def _connection(self, address):
        place = address.hostname, address.port
        if place not in self._connections:
            self._connections[place] = http.client.HTTPConnection(*place, timeout=PATIENCE_SECONDS)
        return self._connections[place]
