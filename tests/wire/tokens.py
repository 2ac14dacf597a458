"""Tokens as an application's own back-end would mint them: HS256, `sub` is the user."""

import time

import jwt

CONTROL_TOKEN = "a-control-token-of-the-tests-0123456789"
KEY = "a-key-of-the-tests-that-is-long-enough-for-hs256"


def token(mid, key=KEY, ttl=3600, **claims):
    """A signed token; further claims (`nbf`, `aud`, ...) replace the usual ones of the same name."""
    return jwt.encode({"sub": str(mid), "exp": int(time.time()) + ttl, **claims}, key, algorithm="HS256")
