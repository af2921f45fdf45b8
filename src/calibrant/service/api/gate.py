"""The gate: which requests are allowed. Probes need no token, and show less without one.

Without any token in the store, only this machine is served, and only under its local names: a page
of another site whose name resolves to this machine is rejected. With tokens, every request needs
one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

from calibrant.service.problems import Problem
from calibrant.service.service import Service
from calibrant.service.store.records import StoreError
from calibrant.service.tokens import EVERYTHING, Access

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The probes of an orchestrator, which has no token.
PROBES = ("/healthz", "/readyz")
STREAMS = "/v1/streams/"
#: Paths that show only those streams that a token may see, or none.
SHARED = ("/", "/v1/streams", "/v1/events", "/docs", "/docs.css", "/openapi.json")
READING = ("GET", "HEAD")
#: How a token may be sent; a browser shows the realm and asks for name and password.
CHALLENGES = (b"Bearer", b'Basic realm="calibrant: any name, and the token as password"')
NEEDED = {"GET": "read", "HEAD": "read", "POST": "write"}
#: Seconds within which a client takes what is sent.
PATIENCE = 30.0
#: The headers of every answer: no guessing of types, no framing, nothing from other sites.
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
]


class Gate:
    """Pass allowed requests on to the app."""

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        is_begun = False

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                present = {name for name, _ in message["headers"]}
                own = [each for each in HEADERS if each[0] not in present]
                message["headers"] = [*message["headers"], *own]
            async with asyncio.timeout(PATIENCE):
                await send(message)

        try:
            access = self._admit(scope)
        except Problem as problem:
            if scope["path"] not in PROBES:
                await refuse(problem, send_with_headers)
                return
            access = None
        state = scope.setdefault("state", {})
        state["access"], state["is_admitted"] = access, lambda: self._still_admits(scope)
        try:
            await self.app(scope, receive, send_with_headers)
        except (TimeoutError, ClientDisconnect):
            pass  # the client does not read, or has left
        except Exception:
            self.service.log_exception(scope["method"], scope["path"])
            if not is_begun:
                await refuse(Problem(500, "internal error; see the log of the service"), send)

    def _still_admits(self, scope: Scope) -> bool:
        """Whether a request that is still being answered would be admitted now."""
        try:
            self._admit(scope)
        except Problem:
            return False
        return True

    def _admit(self, scope: Scope) -> Access:
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:
            raise Problem(400, "a body must have a content-length or be chunked, not both")
        tokens = self.service.tokens
        try:
            is_open = not tokens.current()
        except StoreError as error:
            raise Problem(503, "the store cannot be read") from error
        if is_open:
            if not is_local(scope, headers.get(b"host", b"")):
                raise Problem(
                    403,
                    "without tokens, only requests from this machine to localhost are served; "
                    "calibrant token new creates a token",
                )
            return EVERYTHING
        access = tokens.access(token_of(headers, scope["method"]))
        if access is None:
            raise Problem(401, "send Authorization: Bearer TOKEN; calibrant token new creates one")
        stream = stream_of(scope["path"])
        needed = NEEDED.get(scope["method"], "admin")
        if not access.allows(needed, stream) and not lists_streams(scope["path"], needed):
            where = "all streams" if stream is None else f"stream {stream!r}"
            raise Problem(403, f"this needs the scope {needed} on {where}")
        return access


def lists_streams(path: str, needed: str) -> bool:
    """Whether a path may be read with a token for any stream."""
    return needed == "read" and (path in SHARED or path.startswith("/static/"))


def stream_of(path: str) -> str | None:
    """Return the name of the stream that a path is about."""
    for start in (STREAMS, "/streams/"):
        if path.startswith(start):
            return path[len(start) :].split("/", 1)[0] or None
    return None


def is_local(scope: Scope, host: bytes) -> bool:
    """Whether a request comes from this machine and is addressed to it."""
    client = scope.get("client")
    name = host.decode("latin-1").rsplit(":", 1)[0] if not host.endswith(b"]") else host.decode()
    try:
        from_here = client is None or ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        from_here = False
    return from_here and name.strip("[]") in ("localhost", "127.0.0.1", "::1")


def token_of(headers: dict[bytes, bytes], method: str) -> str | None:
    """Return the token of a request.

    A browser asks its user for it as a password, and then sends it with any request of a page, so
    such a token is read-only.
    """
    kind, _, value = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if kind.lower() == "bearer" and value:
        return value.strip()
    if kind.lower() == "basic" and method in READING:
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
    return None


async def refuse(problem: Problem, send: Send) -> None:
    """Send a problem."""
    body = json.dumps(problem.as_json()).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if problem.status == 400:  # a proxy may think that the next request begins elsewhere
        headers.append((b"connection", b"close"))
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    if problem.status == 401:
        headers += [(b"www-authenticate", kind) for kind in CHALLENGES]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
