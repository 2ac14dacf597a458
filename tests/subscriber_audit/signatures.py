"""The signature of every delivery, checked by a library of Standard Webhooks, while secrets are rotated."""

import base64
import random
import threading
import time

from standardwebhooks import Webhook, WebhookVerificationError

from subscriber_audit.judge import path_of
from wire.http import control

# A try that begins so long after a rotation was answered is signed with the new secret: no lease lasts longer.
LEASE_SECONDS_MAX = 10
# The library takes signatures of the last five minutes.
CHECK_EVERY_SECONDS = 60


class Signatures:
    def __init__(self, site, receiver):
        self._site, self._receiver = site, receiver
        self._secrets = {}  # path: [(time.monotonic() of its answer, Webhook)], the newest last
        self._checked = 0  # requests
        self._found = []
        self.rotated = 0
        self._one = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self):
        """Checks now and then, for as long as it takes."""
        self._thread = threading.Thread(target=self._check_again_and_again, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def make(self, owner):
        """A secret for an owner that is to be made."""
        secret = "whsec_" + base64.b64encode(random.randbytes(32)).decode()
        self._secrets[path_of(owner)] = [(time.monotonic(), Webhook(secret))]
        return secret

    def rotate(self, owner):
        # No check meanwhile: the new secret may be used before it is known here.
        with self._one:
            answer = control(self._site.gateways[0], "POST", f"/v1/subscribers/owner-{owner}/rotate")
            assert answer.status == 200, answer.text
            self._secrets[path_of(owner)].append((time.monotonic(), Webhook(answer.json()["secret"])))
        self.rotated += 1

    def check(self):
        """The faults of what has come since they were asked for."""
        with self._one:
            self._look()
            found, self._found = self._found, []
        return [("signature", fault) for fault in found]

    def _check_again_and_again(self):
        while not self._ended.wait(CHECK_EVERY_SECONDS):
            with self._one:
                self._look()

    def _look(self):
        requests = self._receiver.requests()
        new, self._checked = requests[self._checked :], len(requests)
        faults = [self._fault(request) for request in new if request.path in self._secrets]
        self._found += [fault for fault in faults if fault]

    def _fault(self, request):
        secrets = self._secrets[request.path]
        good = [known for known in secrets if _is_signed(request, known[1])]
        if not good:
            return f"{request.headers.get('webhook-id')} for {request.path} is not signed with a secret of its subscriber"
        rotated, newest = secrets[-1]
        if request.at > rotated + LEASE_SECONDS_MAX and not _is_signed(request, newest):
            return f"{request.headers.get('webhook-id')} for {request.path} is not signed with the newest secret"
        return None


def _is_signed(request, webhook):
    try:
        webhook.verify(request.body, request.headers)
        return True
    except WebhookVerificationError:
        return False
