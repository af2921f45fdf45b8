"""Clients of a service, a blocking one and one for asyncio. Both retry what was not answered.

They need httpx, of the extra ``service``, and nothing else of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from calibrant.service.client import protocol
from calibrant.service.client.protocol import Exchange, Moment, Reply, Request, Row

try:
    import httpx
except ImportError as error:
    raise ImportError(
        "calibrant.service.Client needs httpx: pip install 'calibrant[service]'"
    ) from error

ADDRESS = "http://127.0.0.1:8042"

T = TypeVar("T")


class _Methods:
    """The methods of both clients; `_run` runs an exchange, at once or when it is awaited.

    They are those of `Recalibrator` with the name of the stream in front, and a key for keyed
    streams. An id is needed: it makes a request count once, however often it is sent.
    """

    def __init__(
        self,
        url: str = ADDRESS,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not patience >= 0.0:
            raise ValueError(f"patience must be at least 0 seconds, got {patience}")
        self.patience = patience
        self._http = self._connections(
            base_url=url, headers=headers(token), timeout=timeout, transport=transport
        )

    def _connections(self, **given: Any) -> Any:
        raise NotImplementedError

    def _run(self, exchange: Exchange[Any]) -> Any:
        raise NotImplementedError

    def _ask(self, method: str, path: str, content: Row | None = None) -> Any:
        return self._run(protocol.ask(method, path, self.patience, content))

    def _request(self, request: Request) -> Any:
        return self._http.build_request(request.method, request.path, content=request.body)

    def put_stream(self, stream: str, **settings: Any) -> Any:
        """Create a stream, unless it exists with these settings; return its name and settings."""
        return self._ask("PUT", protocol.stream_path(stream), settings)

    def predict(
        self,
        stream: str,
        score: float | Sequence[float] | None = None,
        *,
        id: str | int,  # noqa: A002 - as Recalibrator has it
        by: str | None = None,
        at: Moment | None = None,
        due: Moment | None = None,
        key: str | int | None = None,
        forecast: float | None = None,
        scale: float | None = None,
        quantiles: Sequence[float] | None = None,
        levels: Sequence[float] | None = None,
    ) -> Any:
        """Predict one row, which is stored when this returns; return the `Prediction`, a float.

        A stream of numbers takes a forecast, NaN for a missing one, in place of a score, and
        returns a `NumberPrediction`; one of several classes takes a row of scores, and returns a
        `ClassPrediction`. An id that was predicted before with another score, forecast
        or key raises a `RoundError`.
        """
        row = {
            protocol.field_of(score): score, "id": id, "by": by, "at": at, "due": due, "key": key,
            "forecast": forecast, "scale": scale, "quantiles": quantiles, "levels": levels,
        }  # fmt: skip
        return self._run(protocol.predict(stream, one_row(row), self.patience))

    def predict_many(
        self,
        stream: str,
        scores: Iterable[float] | Iterable[Sequence[float]] | None = None,
        *,
        ids: Iterable[str | int],
        by: Iterable[str | None] | None = None,
        at: Moment | Iterable[Moment | None] | None = None,
        due: Moment | Iterable[Moment | None] | None = None,
        keys: Iterable[str | int] | None = None,
        forecasts: Iterable[float] | None = None,
        scales: Iterable[float | None] | None = None,
        quantiles: Iterable[Sequence[float]] | None = None,
        levels: Sequence[float] | None = None,
    ) -> Any:
        """Predict rows, 10,000 in a request; return a list of `Prediction`.

        A stream of numbers takes forecasts in place of scores, or quantiles at these `levels`.

        The rows of one request arrived together and have no order. `at` and `due` are one time, or
        one per row.
        """
        given, names = None if scores is None else list(scores), list(ids)
        columns = {
            protocol.field_of(given[0] if given else None): given, "id": names, "by": by, "at": at,
            "due": due, "key": keys, "forecast": forecasts, "scale": scales,
            "quantiles": quantiles, "levels": None if levels is None else [levels] * len(names),
        }  # fmt: skip
        return self._run(protocol.predict_many(stream, columns, self.patience))

    def update(
        self,
        stream: str,
        outcome: float | str,
        *,
        id: str | int,  # noqa: A002 - as Recalibrator has it
        at: Moment | None = None,
    ) -> Any:
        """Report the outcome of one prediction; return "applied" or "repeated".

        An outcome that contradicts an earlier one, or whose id does not wait, raises a `RoundError`
        and changes nothing.
        """
        row = {"outcome": outcome, "id": id, "at": at}
        return self._run(protocol.update(stream, one_row(row), self.patience))

    def update_many(
        self,
        stream: str,
        outcomes: Iterable[float | str],
        *,
        ids: Iterable[str | int],
        at: Moment | Iterable[Moment | None] | None = None,
    ) -> Any:
        """Report outcomes, 10,000 in a request; return an answer for each.

        An answer is "applied", "repeated", "conflict", "unknown" or "expired".
        """
        columns = {"outcome": outcomes, "id": ids, "at": at}
        return self._run(protocol.update_many(stream, columns, self.patience))

    def prediction(self, stream: str, id: str | int) -> Any:  # noqa: A002 - as Recalibrator has it
        """Return a prediction as it is stored, with its outcome and whether it still waits."""
        return self._ask("GET", protocol.prediction_path(stream, id))

    def erase(self, stream: str, ids: Iterable[str | int]) -> Any:
        """Erase predictions with their outcomes; return the ids of which there was none."""
        return self._run(protocol.erase(stream, ids, self.patience))

    def patch_stream(self, stream: str, **changes: Any) -> Any:
        """Change the name, the capacity or the retention of a stream; return it as it is then."""
        return self._ask("PATCH", protocol.stream_path(stream), changes)

    def delete_stream(self, stream: str) -> Any:
        """Delete a stream with all that is stored of it."""
        return self._ask("DELETE", protocol.stream_path(stream))

    def streams(self) -> Any:
        """Return all streams that the token may see, each with its verdict."""
        return self._run(protocol.get_streams(self.patience))

    def stream(self, stream: str) -> Any:
        """Return one stream, with its settings."""
        return self._ask("GET", protocol.stream_path(stream))

    def scorecard(self, stream: str) -> Any:
        """Return the measures of the raw, the calibrated and the smooth probabilities."""
        return self._ask("GET", protocol.stream_path(stream, "scorecard"))


class Client(_Methods):
    """A blocking client.

    A request that was not answered (no connection, a timeout, a service that restarts or is busy)
    is sent again, with growing pauses, for as long as `patience`. That is safe: ids make every row
    count once. A row that was stored by a request whose answer was lost is "repeated", with the
    stored probability.

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
        How httpx reaches the service, for your own certificates and proxies.

    Raises
    ------
    RefusedError
        The request is wrong, or not allowed; `field`, `allowed` and `row` say where. A ValueError.
    UnavailableError
        There was no answer in all that time.
    RoundError
        Of `predict` and `update`: the id is unknown, expired or has another value; `answer` says
        which.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1", patience=0) as client:
    ...     client.streams()
    Traceback (most recent call last):
    calibrant.service.client.protocol.UnavailableError: http://127.0.0.1:1: [Errno 111] ...
    """

    def _connections(self, **given: Any) -> httpx.Client:
        return httpx.Client(**given)

    def _run(self, exchange: Exchange[T]) -> T:
        came: Reply | ConnectionError | None = None
        while True:
            try:
                step = advanced(exchange, came)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            came = None
            if isinstance(step, Request):
                try:
                    came = reply_of(self._http.send(self._request(step)))
                except httpx.TransportError as error:
                    came = connection_error(self._http.base_url, error)
            else:
                time.sleep(step)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Methods):
    """The `Client` for asyncio: the same methods and arguments, to be awaited.

    Examples
    --------
    >>> import asyncio
    >>> async def streams():
    ...     async with AsyncClient("http://127.0.0.1:1", patience=0) as client:
    ...         return await client.streams()
    >>> asyncio.run(streams())
    Traceback (most recent call last):
    calibrant.service.client.protocol.UnavailableError: http://127.0.0.1:1: ...
    """

    def _connections(self, **given: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(**given)

    async def _run(self, exchange: Exchange[T]) -> T:
        came: Reply | ConnectionError | None = None
        while True:
            try:
                step = advanced(exchange, came)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            came = None
            if isinstance(step, Request):
                try:
                    came = reply_of(await self._http.send(self._request(step)))
                except httpx.TransportError as error:
                    came = connection_error(self._http.base_url, error)
            else:
                await asyncio.sleep(step)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def advanced(exchange: Exchange[T], came: Reply | ConnectionError | None) -> Request | float:
    """Return the next step of an exchange, after a reply or the lack of one."""
    return exchange.throw(came) if isinstance(came, ConnectionError) else exchange.send(came)


def one_row(row: Row) -> dict[str, list[Any] | None]:
    """Return one row as columns."""
    return {name: None if value is None else [value] for name, value in row.items()}


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
