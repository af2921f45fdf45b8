"""What a client says to the service and what it makes of the answers, without any input or output.

A talk is a generator. It yields a `Request` to be sent, and is given the `Reply`, or is thrown the
ConnectionError; or it yields seconds to wait. What it returns is the answer. So the client that
waits and the one that awaits share every rule about retries.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from calibrant.service.limits import MOST_BYTES, MOST_ROWS

#: Seconds before the first retry, and the most between two; they double in between.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
#: Answers after which the same request is sent again.
BUSY = (408, 429, 502, 503, 504)

T = TypeVar("T")
Row = dict[str, Any]
Moment = float | str | datetime


class ServiceError(Exception):
    """The service did not do what it was asked.

    Attributes
    ----------
    status : int or None
        The status of the answer; None if there was none.
    field, allowed : str or None
        What was wrong, and what is allowed.
    row : int or None
        The first bad row, counted from 0 over the whole call.
    """

    def __init__(self, detail: str, status: int | None = None, **where: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.field, self.allowed, self.row = map(where.get, ("field", "allowed", "row"))


class RefusedError(ServiceError):
    """The service refused the request; it will refuse it again."""


class UnavailableError(ServiceError):
    """The service could not be reached, or was busy, for as long as the client's patience."""


class Request(NamedTuple):
    """What is to be sent."""

    method: str
    path: str
    body: bytes | None = None


class Reply(NamedTuple):
    """What came back; `retry_after` is the header of that name."""

    status: int
    body: bytes
    retry_after: str | None = None


class Prediction(NamedTuple):
    """What the service says of a row; `answer` is "applied", "repeated" or "conflict"."""

    id: str
    probability: float
    smooth: float
    raw: float | None
    sequence: int
    answer: str


Talk = Generator[Request | float, Reply | None, T]


def asked(request: Request, patience: float) -> Talk[Any]:
    """Send a request until it is answered, and return what the answer holds.

    Sending it again is safe: a stream, a prediction and an outcome count once, however often they
    come.
    """
    end, wait = time.monotonic() + patience, FIRST_WAIT
    while True:
        least = 0.0
        try:
            reply = yield request
            assert reply is not None
            if reply.status not in BUSY:
                return understood(reply)
            error = problem_of(reply)
            if reply.retry_after is not None and reply.retry_after.isdecimal():
                least = float(reply.retry_after[:9])
        except ConnectionError as failure:
            error = UnavailableError(str(failure))
        pause = max(least, wait * random.uniform(0.5, 1.0))
        if time.monotonic() + pause > end:
            raise error
        yield pause
        wait = min(2.0 * wait, LONGEST_WAIT)


def understood(reply: Reply) -> Any:
    """Return what an answer holds, or raise what it says is wrong."""
    if reply.status >= 300:
        raise problem_of(reply)
    try:
        return json.loads(reply.body)
    except ValueError:
        raise ServiceError("the answer is not JSON: is this calibrant?", reply.status) from None


def problem_of(reply: Reply) -> ServiceError:
    """Return the error of an answer: problem+json, or whatever a proxy in between said."""
    try:
        told = json.loads(reply.body)
        detail = f"{told['title']}: {told['detail']}"
    except (ValueError, KeyError, TypeError):
        told, detail = {}, f"status {reply.status}: {reply.body[:200].decode(errors='replace')}"
    kind: type[ServiceError] = ServiceError
    if reply.status in BUSY:
        kind = UnavailableError
    elif 400 <= reply.status < 500:
        kind = RefusedError
    where = {name: told.get(name) for name in ("field", "allowed", "row")}
    return kind(detail, reply.status, **where)


def asked_rows(path: str, rows: Sequence[Row], patience: float) -> Talk[list[Row]]:
    """Send rows, as many in a request as the service takes, and return the answer to each."""
    answers: list[Row] = []
    for body in bodies(rows):
        try:
            answers += yield from asked(Request("POST", path, body), patience)
        except ServiceError as error:
            if error.row is not None:
                error.row += len(answers)
            if answers:
                error.add_note(
                    f"the {len(answers):,} rows before are stored; sent again, they count once"
                )
            raise
    return answers


def bodies(rows: Sequence[Row]) -> Iterator[bytes]:
    """Return lists of rows as JSON, each within the bounds of a request."""
    for start in range(0, len(rows), MOST_ROWS):
        chunks = [rows[start : start + MOST_ROWS]]
        while chunks:
            chunk = chunks.pop()
            body = json.dumps(chunk, ensure_ascii=False, allow_nan=False).encode()
            if len(body) > MOST_BYTES and len(chunk) > 1:
                half = len(chunk) // 2
                chunks += [chunk[half:], chunk[:half]]
            else:
                yield body


# -- the requests ---------------------------------------------------------------------------------


def stream_path(stream: str, view: str = "") -> str:
    """Return the path of a stream, or of a view of it."""
    return f"/v1/streams/{quote(stream, safe='')}" + (view and f"/{view}")


def put_stream(stream: str, settings: Row, patience: float) -> Talk[Any]:
    """Make a stream."""
    body = json.dumps(settings, allow_nan=False).encode()
    return (yield from asked(Request("PUT", stream_path(stream), body), patience))


def get(path: str, patience: float) -> Talk[Any]:
    """Look at something."""
    return (yield from asked(Request("GET", path), patience))


def get_streams(patience: float) -> Talk[list[Row]]:
    """Look at all streams."""
    found = yield from get("/v1/streams", patience)
    return found["streams"]  # type: ignore[no-any-return]


def predict_many(stream: str, columns: dict[str, Any], patience: float) -> Talk[list[Prediction]]:
    """Predict rows."""
    rows = rows_of(columns)
    answers = yield from asked_rows(stream_path(stream, "predictions"), rows, patience)
    return [Prediction(*(row[name] for name in Prediction._fields)) for row in answers]


def update_many(stream: str, columns: dict[str, Any], patience: float) -> Talk[list[str]]:
    """Bring outcomes."""
    rows = rows_of(columns)
    answers = yield from asked_rows(stream_path(stream, "outcomes"), rows, patience)
    return [row["answer"] for row in answers]


def first(talk: Talk[list[T]]) -> Talk[T]:
    """Return the first of the answers of a talk."""
    return (yield from talk)[0]


def rows_of(columns: dict[str, Any]) -> list[Row]:
    """Return columns as rows; columns that are None are left out, and so are None's in them."""
    given = {name: list(column) for name, column in columns.items() if column is not None}
    lengths = {name: len(column) for name, column in given.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise ValueError(f"columns must have the same length, got {told}")
    return [
        {name: plain(value) for name, value in zip(given, row, strict=True) if value is not None}
        for row in zip(*given.values(), strict=True)
    ]


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as Python's, a datetime as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value
