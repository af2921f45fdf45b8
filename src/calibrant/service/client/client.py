"""Clients of a service, one that waits and one for asyncio. Both send again what was not answered.

They need httpx, of the extra ``service``, and nothing else of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from calibrant.service.client import protocol
from calibrant.service.client.protocol import Moment, Prediction, Reply, Request, Row, Talk

try:
    import httpx
except ImportError as error:
    raise ImportError(
        "calibrant.service.Client needs httpx: pip install 'calibrant[service]'"
    ) from error

ADDRESS = "http://127.0.0.1:8042"

T = TypeVar("T")


class _Talks:
    """What both clients say; `_do` carries a talk out, at once or when it is awaited."""

    def __init__(self, patience: float) -> None:
        if not patience >= 0.0:
            raise ValueError(f"patience must be at least 0 seconds, got {patience}")
        self.patience = patience

    def _do(self, talk: Talk[Any]) -> Any:
        raise NotImplementedError

    def put_stream(self, stream: str, **settings: Any) -> Any:
        """Make a stream; the same settings again are fine. Return its name and all settings."""
        return self._do(protocol.put_stream(stream, settings, self.patience))

    def predict(
        self,
        stream: str,
        score: float,
        id: str | int,  # noqa: A002 - as Recalibrator has it
        by: str | None = None,
        at: Moment | None = None,
        due: Moment | None = None,
        key: str | int | None = None,
    ) -> Any:
        """Predict one row; it is stored when this returns. Return a `Prediction`."""
        columns = one_row(score=score, id=id, by=by, at=at, due=due, key=key)
        return self._do(protocol.first(protocol.predict_many(stream, columns, self.patience)))

    def predict_many(
        self,
        stream: str,
        scores: Iterable[float],
        ids: Iterable[str | int],
        by: Iterable[str | None] | None = None,
        at: Iterable[Moment | None] | None = None,
        due: Iterable[Moment | None] | None = None,
        keys: Iterable[str | int] | None = None,
    ) -> Any:
        """Predict rows, up to 10,000 in a request. Return a list of `Prediction`.

        The rows of one request came together and have no order.
        """
        columns = {"score": scores, "id": ids, "by": by, "at": at, "due": due, "key": keys}
        return self._do(protocol.predict_many(stream, columns, self.patience))

    def update(
        self,
        stream: str,
        outcome: float,
        id: str | int,  # noqa: A002 - as Recalibrator has it
        at: Moment | None = None,
    ) -> Any:
        """Bring the outcome of one prediction.

        Return "applied", "repeated", "conflict", "unknown" or "expired".
        """
        columns = one_row(outcome=outcome, id=id, at=at)
        return self._do(protocol.first(protocol.update_many(stream, columns, self.patience)))

    def update_many(
        self,
        stream: str,
        outcomes: Iterable[float],
        ids: Iterable[str | int],
        at: Iterable[Moment | None] | None = None,
    ) -> Any:
        """Bring outcomes, up to 10,000 in a request. Return a word for each, as `update` does."""
        columns = {"outcome": outcomes, "id": ids, "at": at}
        return self._do(protocol.update_many(stream, columns, self.patience))

    def streams(self) -> Any:
        """Return all streams that the token may see, each with its verdict."""
        return self._do(protocol.get_streams(self.patience))

    def stream(self, stream: str) -> Any:
        """Return one stream, with its settings."""
        return self._do(protocol.get(protocol.stream_path(stream), self.patience))

    def scorecard(self, stream: str) -> Any:
        """Return the measures of the raw, the calibrated and the smooth probabilities."""
        return self._do(protocol.get(protocol.stream_path(stream, "scorecard"), self.patience))


class Client(_Talks):
    """A client that waits for each answer.

    A request that was not answered (no connection, a timeout, a service that restarts or is busy)
    is sent again, with growing pauses, for as long as `patience`. That is safe: ids make every row
    count once. A row that was stored by a request whose answer got lost is "repeated", with the
    answer that is stored.

    Parameters
    ----------
    url : str
        Where the service listens.
    token : str, optional
        A token of ``calibrant token new``.
    timeout : float
        Seconds for one try.
    patience : float
        Seconds after which no new try is made.
    transport : httpx.BaseTransport, optional
        How httpx reaches the service, for certificates and proxies of one's own.

    Raises
    ------
    RefusedError
        The request is wrong, or not allowed; `field`, `allowed` and `row` say where.
    UnavailableError
        There was no answer in all that time.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1", patience=0) as client:
    ...     client.streams()
    Traceback (most recent call last):
    calibrant.service.client.protocol.UnavailableError: http://127.0.0.1:1: [Errno 111] ...
    """

    def __init__(
        self,
        url: str = ADDRESS,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(patience)
        self._http = httpx.Client(
            base_url=url, headers=headers(token), timeout=timeout, transport=transport
        )

    def _do(self, talk: Talk[T]) -> T:
        answer: Reply | None = None
        failure: ConnectionError | None = None
        while True:
            try:
                step = talk.send(answer) if failure is None else talk.throw(failure)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = failure = None
            if isinstance(step, Request):
                try:
                    answer = reply_of(self._http.send(self._request(step)))
                except httpx.TransportError as error:
                    failure = connection_error(self._http.base_url, error)
            else:
                time.sleep(step)

    def _request(self, request: Request) -> httpx.Request:
        return self._http.build_request(request.method, request.path, content=request.body)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Talks):
    """The `Client` for asyncio: the same methods, to be awaited."""

    def __init__(
        self,
        url: str = ADDRESS,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(patience)
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers(token), timeout=timeout, transport=transport
        )

    async def _do(self, talk: Talk[T]) -> T:
        answer: Reply | None = None
        failure: ConnectionError | None = None
        while True:
            try:
                step = talk.send(answer) if failure is None else talk.throw(failure)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = failure = None
            if isinstance(step, Request):
                request = self._http.build_request(step.method, step.path, content=step.body)
                try:
                    answer = reply_of(await self._http.send(request))
                except httpx.TransportError as error:
                    failure = connection_error(self._http.base_url, error)
            else:
                await asyncio.sleep(step)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def one_row(**values: Any) -> dict[str, list[Any] | None]:
    """Return one row as columns."""
    return {name: None if value is None else [value] for name, value in values.items()}


def headers(token: str | None) -> Row:
    """Return what every request carries."""
    own = {} if token is None else {"authorization": f"Bearer {token}"}
    return {"content-type": "application/json", "accept": "application/json"} | own


def reply_of(response: httpx.Response) -> Reply:
    """Return what came back."""
    return Reply(response.status_code, response.content, response.headers.get("retry-after"))


def connection_error(url: httpx.URL, error: httpx.TransportError) -> ConnectionError:
    """Return why there was no answer; an address that can never work is a ValueError at once."""
    if isinstance(error, httpx.UnsupportedProtocol):
        raise ValueError(f"url must begin with http:// or https://, got {str(url)!r}") from None
    return ConnectionError(f"{url}: {error or type(error).__name__}")


__all__ = ["AsyncClient", "Client", "Prediction"]
