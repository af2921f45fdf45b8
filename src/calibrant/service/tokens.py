"""Tokens: who may read, write or administer which streams.

A token is ``cal_NAME_SECRET``. The secret has 256 random bits, and the store holds its SHA-256.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from hashlib import sha256

from calibrant._spans import as_span
from calibrant.service.limits import NAME
from calibrant.service.store.base import Store
from calibrant.service.store.records import TokenRow

#: The scopes; each includes those before it.
SCOPES = ("read", "write", "admin")
ANY_STREAM = "*"
#: Seconds for which tokens that were read from the store are used.
FRESH = 1.0


def new_token(
    store: Store, scope: str, *, stream: str = ANY_STREAM, lasts: str | None = None, now: float
) -> str:
    """Store a new token and return it; it cannot be shown again.

    `lasts` is a span such as "90d"; without one, the token does not expire.
    """
    if scope not in SCOPES:
        raise ValueError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if stream != ANY_STREAM and not re.fullmatch(NAME, stream):
        raise ValueError(f"stream must be a stream's name, or * for all, got {stream!r}")
    name, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    expires = None if lasts is None else now + as_span(lasts, "lasts").length
    store.add_token(TokenRow(name, hash_of(secret), scope, stream, now, expires))
    return f"cal_{name}_{secret}"


def rotate_token(store: Store, name: str, *, grace: str, now: float) -> str:
    """Return a new token with the rights of another one, which expires after a grace period."""
    old = next((each for each in store.tokens() if each.name == name), None)
    if old is None:
        raise ValueError(f"there is no token {name!r}; calibrant token list shows them")
    token = new_token(store, old.scope, stream=old.stream, now=now)
    store.end_token(name, now + as_span(grace, "grace").length)
    return token


def hash_of(secret: str) -> str:
    """Return the hash of a secret, as stored."""
    return sha256(secret.encode()).hexdigest()


class Access:
    """The permissions of a token."""

    __slots__ = ("scope", "stream")

    def __init__(self, scope: str = "admin", stream: str = ANY_STREAM) -> None:
        self.scope, self.stream = scope, stream

    def allows(self, scope: str, stream: str | None) -> bool:
        """Whether a scope is allowed on a stream; None stands for all streams."""
        reach = self.stream in (ANY_STREAM, stream)
        return reach and SCOPES.index(scope) <= SCOPES.index(self.scope)

    def sees(self, stream: str) -> bool:
        """Whether the token is for this stream, or for all."""
        return self.stream in (ANY_STREAM, stream)


#: The permissions of anyone on this machine while the store has no token.
EVERYTHING = Access()


class Tokens:
    """The tokens of a store, reloaded every second, so a revoked one is rejected soon after."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store, self._now = store, now
        self._lock = threading.Lock()
        self._read_at = -FRESH
        self._tokens: dict[str, TokenRow] = {}

    def current(self) -> dict[str, TokenRow]:
        """Return all tokens by name; while there is none, any user of this machine may do all."""
        with self._lock:
            if time.monotonic() - self._read_at >= FRESH:
                self._tokens = {each.name: each for each in self._store.tokens()}
                self._read_at = time.monotonic()
            return self._tokens

    def access(self, token: str | None) -> Access | None:
        """Return what a token allows; None if it is unknown or has expired."""
        parts = (token or "").split("_", 2)
        if len(parts) != 3 or parts[0] != "cal":
            return None
        _, name, secret = parts
        found = self.current().get(name)
        # The same work for a name that does not exist, so that timing reveals nothing.
        stored = hash_of("") if found is None else found.hash
        is_right = hmac.compare_digest(hash_of(secret), stored)
        if found is None or not is_right:
            return None
        if found.expires is not None and found.expires <= self._now():
            return None
        return Access(found.scope, found.stream)
