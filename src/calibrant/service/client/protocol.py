"""The requests of a client, the retries, and the meaning of answers, without any input or output.

An exchange is a generator. It yields a `Request` to be sent, and is sent the `Reply`, or the
ConnectionError is thrown into it; or it yields seconds to wait. What it returns is the answer. So
the blocking client and the asynchronous one share every rule about retries.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import quote, urlencode

from calibrant.rounds import RoundError
from calibrant.service.limits import MOST_BYTES, MOST_ERASED, MOST_ROWS

#: Seconds before the first retry, and the most between two; they double in between.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
#: Answers after which the same request is sent again.
BUSY = (408, 429, 502, 503, 504)

T = TypeVar("T")
Row = dict[str, Any]
Columns = dict[str, Any]
Moment = float | str | datetime
#: A time for all rows of a call.
ONE_TIME = (int, float, str, datetime)
#: Why an outcome is not applied, by the answer.
REASONS = {
    "conflict": "it has another one already",
    "unknown": "there is no such prediction",
    "expired": "its prediction expired, because too many waited",
}


class ServiceError(Exception):
    """A request that was not answered, or refused.

    Attributes
    ----------
    status : int or None
        The status of the answer; None if there was none.
    field, allowed : str or None
        What was wrong, and what is allowed.
    row : int or None
        The first bad row, counted from 0 over the whole call.

    Examples
    --------
    >>> from calibrant.service import RefusedError, UnavailableError
    >>> [issubclass(each, ServiceError) for each in (RefusedError, UnavailableError)]
    [True, True]
    """

    def __init__(self, detail: str, status: int | None = None, **where: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.field, self.allowed, self.row = map(where.get, ("field", "allowed", "row"))


class RefusedError(ServiceError, ValueError):
    """The service refused the request, and would refuse it again.

    Examples
    --------
    >>> error = RefusedError("score must be a number, got 'high'", 422, field="score", row=3)
    >>> error.status, error.field, error.row, isinstance(error, ValueError)
    (422, 'score', 3, True)
    """


class UnavailableError(ServiceError):
    """The service could not be reached, or was busy, for as long as the client retried.

    Examples
    --------
    >>> from calibrant.service import Client
    >>> try:
    ...     Client("http://127.0.0.1:1", patience=0).streams()
    ... except UnavailableError as error:
    ...     print(error.status)
    None
    """


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


class _Answered(float):
    """What the service predicted, as a number, with the rest of its answer beside it."""

    def __new__(cls, row: Row) -> Self:
        """Return the prediction of a row that was answered."""
        value = row.get("probability", row.get("median"))
        found = super().__new__(cls, math.nan if value is None else value)
        found.__dict__.update((name, row.get(name)) for name in cls.__annotations__)
        return found


class Prediction(_Answered):
    """A probability, with what the service answered beside it.

    Attributes
    ----------
    id : str
        The id of the round.
    smooth, raw : float, float or None
        The estimate for ranking, and the score as a probability; None for a margin.
    sequence : int
        The position in the stream's log.
    answer : str
        "applied", "repeated" or "conflict".
    act, propensity : bool, float or None
        Whether to act, and the chance that it had; None if the stream does not decide.

    Examples
    --------
    >>> row = {"id": "a", "probability": 0.25, "smooth": 0.24, "raw": 0.3, "sequence": 1}
    >>> predicted = Prediction(row | {"answer": "applied"})
    >>> predicted, predicted.smooth
    (0.25, 0.24)
    """

    id: str
    smooth: float
    raw: float | None
    sequence: int
    answer: str
    act: bool | None
    propensity: float | None


class NumberPrediction(_Answered):
    """The median of a predicted distribution, with what the service answered beside it.

    Attributes
    ----------
    id : str
        The id of the round.
    forecast : float or None
        The forecast that was sent; None if it was missing.
    quantiles : dict
        The quantile at each level, the level as text; None where it is infinite.
    intervals : dict
        The ends of the central intervals, by what they should cover: "0.5", "0.8" and "0.9".
    sequence : int
        The position in the stream's log.
    answer : str
        "applied", "repeated" or "conflict".

    Examples
    --------
    >>> row = {"id": "a", "forecast": 3.0, "median": 3.5, "quantiles": {"0.05": 1.0, "0.95": 6.0}}
    >>> row |= {"intervals": {"0.9": [1.0, 6.0]}, "sequence": 1, "answer": "applied"}
    >>> predicted = NumberPrediction(row)
    >>> predicted, predicted.intervals["0.9"]
    (3.5, [1.0, 6.0])
    """

    id: str
    forecast: float | None
    quantiles: dict[str, float | None]
    intervals: dict[str, list[float | None]]
    sequence: int
    answer: str


class ClassPrediction(_Answered):
    """The probability of the named class, with what the service answered beside it.

    Attributes
    ----------
    id : str
        The id of the round.
    label : str or int
        The named class.
    raw : float
        Its score as a probability.
    probabilities : dict
        The probability of each class, the label as text.
    sequence : int
        The position in the stream's log.
    answer : str
        "applied", "repeated" or "conflict".

    Examples
    --------
    >>> row = {"id": "a", "label": "cat", "probability": 0.8, "raw": 0.9}
    >>> row |= {"probabilities": {"cat": 0.8, "dog": 0.2}, "sequence": 1, "answer": "applied"}
    >>> predicted = ClassPrediction(row)
    >>> predicted, predicted.label
    (0.8, 'cat')
    """

    id: str
    label: str | int
    raw: float
    probabilities: dict[str, float]
    sequence: int
    answer: str


Predicted = Prediction | NumberPrediction | ClassPrediction
Exchange = Generator[Request | float, Reply | None, T]


def answered(request: Request, patience: float) -> Exchange[Any]:
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
                return content_of(reply)
            error = error_of(reply)
            if reply.retry_after is not None and reply.retry_after.isdecimal():
                least = float(reply.retry_after[:9])
        except ConnectionError as failure:
            error = UnavailableError(str(failure))
        pause = max(least, wait * random.uniform(0.5, 1.0))
        if time.monotonic() + pause > end:
            raise error
        yield pause
        wait = min(2.0 * wait, LONGEST_WAIT)


def content_of(reply: Reply) -> Any:
    """Return the content of an answer, or raise its error."""
    if reply.status >= 300:
        raise error_of(reply)
    try:
        return json.loads(reply.body)
    except ValueError:
        raise ServiceError(
            "the answer is not JSON: is this a calibrant service?", reply.status
        ) from None


def error_of(reply: Reply) -> ServiceError:
    """Return the error of an answer: problem+json, or whatever a proxy in between sent."""
    try:
        problem = json.loads(reply.body)
        detail = f"{problem['title']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        problem, detail = {}, f"status {reply.status}: {reply.body[:200].decode(errors='replace')}"
    kind: type[ServiceError] = ServiceError
    if reply.status in BUSY:
        kind = UnavailableError
    elif 400 <= reply.status < 500:
        kind = RefusedError
    where = {name: problem.get(name) for name in ("field", "allowed", "row")}
    return kind(detail, reply.status, **where)


def post_rows(path: str, rows: Sequence[Row], patience: float) -> Exchange[list[Row]]:
    """Send rows, as many in a request as the service takes, and return the answer to each."""
    answers: list[Row] = []
    for body in bodies(rows):
        try:
            answers += yield from answered(Request("POST", path, body), patience)
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


def prediction_path(stream: str, id_: str | int) -> str:
    """Return the path of a prediction."""
    return stream_path(stream, f"predictions/{quote(str(id_), safe='')}")


def ask(method: str, path: str, patience: float, content: Row | None = None) -> Exchange[Any]:
    """Send one request, and return what the answer holds."""
    body = None if content is None else json.dumps(content, allow_nan=False).encode()
    return (yield from answered(Request(method, path, body), patience))


def erase(stream: str, ids: Iterable[str | int], patience: float) -> Exchange[list[str]]:
    """Erase predictions; return the ids of which there was none."""
    unknown, asked = [], [str(id_) for id_ in ids]
    for start in range(0, len(asked), MOST_ERASED):
        query = urlencode([("id", id_) for id_ in asked[start : start + MOST_ERASED]])
        path = stream_path(stream, f"predictions?{query}")
        found = yield from answered(Request("DELETE", path), patience)
        unknown += found["unknown"]
    return unknown


def get_streams(patience: float) -> Exchange[list[Row]]:
    """Read all streams."""
    found = yield from ask("GET", "/v1/streams", patience)
    return found["streams"]  # type: ignore[no-any-return]


def predict_many(stream: str, columns: Columns, patience: float) -> Exchange[list[Predicted]]:
    """Predict rows."""
    rows = rows_of(columns)
    answers = yield from post_rows(stream_path(stream, "predictions"), rows, patience)
    return [prediction_of(row) for row in answers]


def prediction_of(row: Row) -> Predicted:
    """Return a prediction, of the kind that its stream makes."""
    if "quantiles" in row:
        return NumberPrediction(row)
    return ClassPrediction(row) if "probabilities" in row else Prediction(row)


def field_of(score: Any) -> str:
    """Return the field of a row that a score goes into: of several classes, a row of them."""
    return "scores" if hasattr(score, "__len__") else "score"


def predict(stream: str, columns: Columns, patience: float) -> Exchange[Predicted]:
    """Predict one row; another score, forecast or key for its id is an error."""
    (found,) = yield from predict_many(stream, columns, patience)
    if found.answer == "conflict":
        raise RoundError(
            f"id {found.id!r} was predicted before, with another score, forecast or key", "conflict"
        )
    return found


def update_many(stream: str, columns: Columns, patience: float) -> Exchange[list[str]]:
    """Report outcomes."""
    rows = rows_of(columns)
    answers = yield from post_rows(stream_path(stream, "outcomes"), rows, patience)
    return [row["answer"] for row in answers]


def update(stream: str, columns: Columns, patience: float) -> Exchange[str]:
    """Report one outcome; one that cannot be learned is an error."""
    (answer,) = yield from update_many(stream, columns, patience)
    if answer not in ("applied", "repeated"):
        (id_,) = columns["id"]
        raise RoundError(f"the outcome of id {id_!r} was not applied: {REASONS[answer]}", answer)
    return answer


def rows_of(columns: Columns) -> list[Row]:
    """Return columns as rows; columns that are None are left out, and so are None's in them."""
    given = {name: column for name, column in columns.items() if column is not None}
    lists = {name: list(each) for name, each in given.items() if not isinstance(each, ONE_TIME)}
    lengths = {name: len(column) for name, column in lists.items()}
    if len(set(lengths.values())) != 1:
        shown = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise ValueError(f"columns must have the same length, got {shown}")
    count = next(iter(lengths.values()))
    full = {name: lists.get(name) or [given[name]] * count for name in given}
    return [
        {
            name: plain(value, name)
            for name, value in zip(full, row, strict=True)
            if value is not None
        }
        for row in zip(*full.values(), strict=True)
    ]


def plain(value: Any, name: str) -> Any:
    """Return a value as JSON has it: NumPy's as Python's, a datetime as text.

    A forecast that is NaN is missing, and null; of anything else, NaN is a mistake.
    """
    if isinstance(value, datetime):
        return value.isoformat()
    value = value.tolist() if hasattr(value, "tolist") else value
    is_missing = name == "forecast" and isinstance(value, float) and math.isnan(value)
    return None if is_missing else value
