"""The relay: a process that does not own the streams hands requests on to the one that does.

While no process owns them, a request is asked to come again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx

from calibrant.service.api.gate import FREE, App, Receive, Scope, Send, refuse
from calibrant.service.api.health import healthz
from calibrant.service.api.terms import Terms
from calibrant.service.problems import Problem
from calibrant.service.store.interface import StoreError
from calibrant.service.store.postgres import PostgresStore

#: Headers of one connection, which are not handed on.
OF_CONNECTION = (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
#: Marks a request that was handed on: it is not handed on again.
HANDED_ON = b"x-calibrant-handed-on"
#: Seconds for which the owner's address is believed, and within which a client takes an answer.
FRESH, PATIENCE = 0.25, 30.0
#: Seconds: to reach the owner, and to hear from it; it greets those who follow events more often.
WAITS = httpx.Timeout(20.0, connect=2.0, read=60.0)
CONNECTIONS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


class Relay:
    """The app of one of several processes: its own while it owns the streams, or the owner's."""

    def __init__(self, terms: Terms, store: PostgresStore) -> None:
        self.terms, self.store = terms, store
        self._http = httpx.AsyncClient(timeout=WAITS, limits=CONNECTIONS, trust_env=False)
        self._owner: str | None = None
        self._read_at = -FRESH

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        own: App | None = self.terms.app
        if own is not None:
            await own(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == FREE:
            await (await healthz())(scope, receive, send)
        elif scope["type"] == "http":
            await self._hand_on_or_refuse(scope, receive, send)

    async def _hand_on_or_refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on; whatever goes wrong is a problem, unless an answer has begun."""
        is_begun = False

        async def noting(message: Any) -> None:
            nonlocal is_begun
            is_begun = True
            await sent(send, message)

        try:
            await self._hand_on(scope, receive, noting)
        except Left:
            pass
        except Exception as error:
            problem = error if isinstance(error, Problem) else self._failed(error)
            if not is_begun:  # otherwise the connection is closed, and the answer cut short
                await refuse(problem, send)

    def _failed(self, error: Exception) -> Problem:
        """Log what went wrong here, and return what is said of it."""
        self.terms.log.error("not handed on", detail=f"{type(error).__name__}: {error}")
        return Problem(502, "the request could not be handed on; the service's log says why")

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in OF_CONNECTION]
        if any(name == HANDED_ON for name, _ in headers):
            raise Problem(503, "the streams are changing hands; come again in a second")
        given = {name for name, _ in scope["headers"]}
        has_body = bool(given & {b"content-length", b"transfer-encoding"})
        incoming = Incoming(receive)
        request = self._http.build_request(
            scope["method"],
            await self._owners_url(scope),
            headers=[*headers, (HANDED_ON, b"1")],
            content=incoming.pieces() if has_body else None,
        )
        if not has_body:
            await incoming.skip()
        answering = asyncio.ensure_future(self._answer(request, send))
        leaving = asyncio.ensure_future(incoming.left())
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
            elif leaving.done():
                leaving.result()
        finally:
            for task in (answering, leaving):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def _answer(self, request: httpx.Request, send: Send) -> None:
        """Ask the owner, and hand back what it says as it comes."""
        try:
            answer = await self._http.send(request, stream=True)
        except httpx.HTTPError:
            self._read_at = -FRESH  # it may be another one now
            raise Problem(
                503,
                "the process that owns the streams did not answer; send it again in a second: "
                "what was stored is answered as it was, and nothing is stored twice",
            ) from None
        try:
            headers = [each for each in answer.headers.raw if each[0].lower() not in OF_CONNECTION]
            start = {"type": "http.response.start", "status": answer.status_code}
            await send(start | {"headers": [(name.lower(), v) for name, v in headers]})
            async for piece in answer.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()

    async def _owners_url(self, scope: Scope) -> httpx.URL:
        """Return the address of a request at the owner."""
        if time.monotonic() - self._read_at >= FRESH:
            try:
                self._owner = await asyncio.to_thread(self.store.owner)
            except StoreError as error:  # whoever asks may have no token: it is told no address
                self.terms.log.error("no owner", detail=str(error))
                raise Problem(503, "the database does not answer; come again") from None
            self._read_at = time.monotonic()
        if self._owner is None or self._owner == self.terms.url:
            raise Problem(503, "no process owns the streams at the moment; come again in a second")
        path = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string", b"")
        return httpx.URL(self._owner).copy_with(raw_path=path + (b"?" + query if query else b""))


class Left(Exception):  # noqa: N818 - no error: it may
    """The client is gone, or does not read: it is left too."""


class Incoming:
    """The body of a request, and after it the word that the client has left."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Return the body as it comes."""
        while True:
            message: Any = await self._receive()
            if message["type"] == "http.disconnect":
                raise Left
            yield message.get("body", b"")
            if not message.get("more_body", False):
                self._ended.set()
                return

    async def skip(self) -> None:
        """Take a body that is empty."""
        async for _ in self.pieces():
            pass

    async def left(self) -> None:
        """Wait until the client has left."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def sent(send: Send, message: dict[str, Any]) -> None:
    """Send a message to a client that takes it in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            await send(message)
    except TimeoutError:
        raise Left from None
