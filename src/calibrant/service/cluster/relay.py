"""The relay: a process that does not own a stream forwards its requests to the one that does.

While no process owns it, requests are answered with 503.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

from calibrant.service.api.gate import Receive, Scope, Send, refuse, stream_of
from calibrant.service.api.health import healthz
from calibrant.service.cluster.terms import Terms
from calibrant.service.problems import Problem
from calibrant.service.store.ownership import chosen

#: Headers of one connection, which are not forwarded.
OF_CONNECTION = (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
#: Marks a request that was forwarded: it is not forwarded again.
FORWARDED = b"x-calibrant-forwarded"
#: Seconds within which a client takes an answer.
PATIENCE = 30.0
#: Seconds to reach the owner, and to receive from it; event streams send keep-alives more often.
WAITS = httpx.Timeout(20.0, connect=2.0, read=60.0)
CONNECTIONS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


class Relay:
    """The app of one of several processes: its own for its streams, the owner's for others."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._http = httpx.AsyncClient(timeout=WAITS, limits=CONNECTIONS, trust_env=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or forward it."""
        if scope["type"] != "http":
            return
        if scope["path"] == "/healthz":
            await (await healthz())(scope, receive, send)
            return
        try:
            app, elsewhere = self.terms.app, self._elsewhere(scope)
        except Problem as problem:
            await refuse(problem, send)
            return
        if elsewhere is not None:
            await self._forward_or_refuse(scope, receive, send, elsewhere)
        elif app is not None:
            await app(scope, receive, send)

    def _elsewhere(self, scope: Scope) -> str | None:
        """Return where a request is to be answered; None if it is here."""
        service, view, stream = self.terms.service, self.terms.view, stream_of(scope["path"])
        if service is None or view is None:
            raise Problem(503, "this process has no connection to the database; retry later")
        if stream is None or stream in service.owner.streams:
            return None
        if stream in view.owners:
            url = view.owners[stream]
        elif not view.is_shared_by_all:  # another may have made it a moment ago
            url = None
        else:
            url = chosen(stream, view.processes)
            if url == self.terms.url:
                return None
        is_forwarded = any(name == FORWARDED for name, _ in scope["headers"])
        if url is None or url == self.terms.url or is_forwarded:
            raise Problem(503, f"stream {stream!r} is moving to another process; retry later")
        return url

    async def _forward_or_refuse(
        self, scope: Scope, receive: Receive, send: Send, url: str
    ) -> None:
        """Forward a request; whatever goes wrong is a problem, unless an answer has begun."""
        is_begun = False

        async def noting(message: Any) -> None:
            nonlocal is_begun
            is_begun = True
            await sent(send, message)

        try:
            await self._forward(scope, receive, noting, url)
        except Left:
            pass
        except Exception as error:
            problem = error if isinstance(error, Problem) else self._failed(error)
            if not is_begun:  # otherwise the connection is closed, and the answer truncated
                await refuse(problem, send)

    def _failed(self, error: Exception) -> Problem:
        """Log what went wrong here, and return the problem that is answered."""
        self.terms.log.error("not forwarded", detail=f"{type(error).__name__}: {error}")
        return Problem(502, "the request could not be forwarded; the service's log says why")

    async def _forward(self, scope: Scope, receive: Receive, send: Send, url: str) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in OF_CONNECTION]
        given = {name for name, _ in scope["headers"]}
        has_body = bool(given & {b"content-length", b"transfer-encoding"})
        incoming = Incoming(receive)
        request = self._http.build_request(
            scope["method"],
            address_at(url, scope),
            headers=[*headers, (FORWARDED, b"1")],
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
        """Send the request to the owner, and return its answer as it arrives."""
        try:
            answer = await self._http.send(request, stream=True)
        except httpx.HTTPError:
            raise Problem(
                503,
                "the process that owns the stream did not answer; retry later: what was stored is "
                "answered as before, and nothing is stored twice",
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


class Left(Exception):  # noqa: N818 - no error
    """The client has left, or does not read."""


class Incoming:
    """The body of a request, and after it the message that the client has left."""

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


def address_at(url: str, scope: Scope) -> httpx.URL:
    """Return the address of a request at another process."""
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string", b"")
    return httpx.URL(url).copy_with(raw_path=path + (b"?" + query if query else b""))


async def sent(send: Send, message: dict[str, Any]) -> None:
    """Send a message; a client must take it in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            await send(message)
    except TimeoutError:
        raise Left from None
