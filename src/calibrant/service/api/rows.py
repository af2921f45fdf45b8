"""Rows of requests: from JSON to checked columns, thousands at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from calibrant.service.limits import AHEAD, EARLIEST, LATEST, LONGEST_ID, MOST_ROWS
from calibrant.service.problems import Problem, bad_value
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.plain import shown
from calibrant.service.stream.stream import Outcomes, Predictions

OUTCOME = frozenset(("id", "outcome", "at"))
OUTCOME_NEEDS = frozenset(("id", "outcome"))
TEXT = f"text of 1 to {LONGEST_ID} characters, or an integer of up to 2**53"
KEY = f"an integer of 64 bits, or text of 1 to {LONGEST_ID} characters"
TIME = 'seconds since 1970, or text such as "2026-07-01T12:00:00Z"'


# -- from bytes to rows -------------------------------------------------------------------------


def parse(body: bytes) -> Any:
    """Parse a body as strict JSON."""
    try:
        found = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        return parse_with_care(body)
    rows = found if isinstance(found, list) else [found]
    # The fast parser takes a field that is named twice. There is none if all are objects with as
    # many fields as the body has colons.
    if set(map(type, rows)) == {dict} and sum(map(len, rows)) == body.count(b":"):
        return found
    return parse_with_care(body)


def parse_with_care(body: bytes) -> Any:
    """Parse a body as strict JSON, or raise a `Problem` that explains the error; 4 times slower."""
    try:
        return json.loads(body, parse_constant=refuse_constant, object_pairs_hook=unique)
    except UnicodeDecodeError:
        raise Problem(400, "the body is not UTF-8 text") from None
    except RecursionError:
        raise Problem(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise Problem(400, f"the body is not JSON: {str(error)[:200]}") from None


def refuse_constant(name: str) -> None:
    """Reject NaN and infinities, which Python would accept."""
    raise ValueError(f"{name} is not JSON")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; reject one with a duplicate field."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object names a field twice")
    return found


def as_rows(parsed: object) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of a request, and whether they came as a list."""
    if isinstance(parsed, dict):
        return [parsed], False
    if not isinstance(parsed, list):
        raise Problem(422, "the body must be an object or a list of objects")
    if not 0 < len(parsed) <= MOST_ROWS:
        raise Problem(
            422, f"a list has 1 to {MOST_ROWS} rows, got {len(parsed)}",
            allowed=f"1 to {MOST_ROWS} rows",
        )  # fmt: skip
    return parsed, True


# -- from rows to columns -----------------------------------------------------------------------


def predictions_of(rows: list[dict[str, Any]], definition: Definition, now: float) -> Predictions:
    """Return rows to predict as columns, or raise a `Problem` that names field and row."""
    kind = definition.of_kind
    seen = check_fields(rows, kind.allowed, kind.needed)
    if not definition.keyed and "key" in seen:
        raise bad_value("this stream is not keyed", "key", "no key")
    keys = keys_of(rows, seen) if definition.keyed else None
    ids = texts(rows, "id")
    scores, given = kind.inputs(rows, seen, definition)
    by = optional(rows, "by", text_of) if "by" in seen else None
    at = times(rows, "at", seen, definition, now)
    due = optional(rows, "due", time_of) if "due" in seen else None
    if due is not None and due.count(None) == len(due):
        due = None
    if due is not None and not definition.is_timed:
        raise bad_value(
            "this stream has no deadlines in time", "due", "no due, or a stream with silence "
            "or hold in time"
        )  # fmt: skip
    if definition.is_timed:
        check_deadlines(definition, at, due)
    return Predictions(ids, scores, by, at, due, keys, given)


def keys_of(rows: list[dict[str, Any]], seen: set[str]) -> list[int] | list[str]:
    """Return the keys of rows, all integers or all text."""
    if "by" in seen and any(row.get("by") is not None for row in rows):
        raise bad_value("a keyed stream has keys instead of groups", "by", "no by")
    keys = [key_of(row.get("key"), number) for number, row in enumerate(rows)]
    kind = type(keys[0])
    for number, key in enumerate(keys):
        if type(key) is not kind:
            raise bad_value(
                "keys are all integers or all text, and those before are "
                + ("integers" if kind is int else "text"), "key", KEY, number,
            )  # fmt: skip
    return keys


def key_of(value: object, number: int) -> Any:
    """Return a key: a 64-bit integer, which may be written as 5.0, or text."""
    if type(value) is float and abs(value) < 2**53 and value.is_integer():
        value = int(value)
    if type(value) is int:
        if -(2**63) <= value < 2**63:
            return value
        raise bad_value("got " + shown(value), "key", KEY, number)
    if value is None:
        raise bad_value("it is missing, and this stream is keyed", "key", KEY, number)
    if type(value) is not str:
        raise bad_value("got " + shown(value), "key", KEY, number)
    return text_of(value, "key", number)


def outcomes_of(rows: list[dict[str, Any]], definition: Definition, now: float) -> Outcomes:
    """Return outcomes as columns, or raise a `Problem` that names field and row."""
    seen = check_fields(rows, OUTCOME, OUTCOME_NEEDS)
    ids = texts(rows, "id")
    outcomes = definition.of_kind.outcomes(rows, definition)
    return Outcomes(ids, outcomes, times(rows, "at", seen, definition, now))


def check_fields(
    rows: list[dict[str, Any]], allowed: frozenset[str], needed: frozenset[str]
) -> set[str]:
    """Return the fields of all rows; reject rows with a missing or an unknown field."""
    seen: set[str]
    if set(map(type, rows)) == {dict}:
        shapes = set(map(frozenset, rows))
        seen = set().union(*shapes)
        if seen <= allowed and needed <= frozenset.intersection(*shapes):
            return seen
    seen = set()
    for number, row in enumerate(rows):
        if type(row) is not dict:
            raise Problem(422, f"row {number} is not an object", row=number)
        if not row.keys() <= allowed:
            field = sorted(row.keys() - allowed)[0]
            raise bad_value("unknown field", field[:100], ", ".join(sorted(allowed)), number)
        seen.update(row)
    for name in sorted(needed):
        for number, row in enumerate(rows):
            if name not in row:
                raise bad_value("it is missing", name, "one in every row", number)
    return seen


def texts(rows: list[dict[str, Any]], name: str) -> list[str]:
    """Return a column of ids."""
    column = [row[name] for row in rows]
    return [
        each
        if type(each) is str
        and each.isascii()
        and each.isprintable()
        and 0 < len(each) <= LONGEST_ID
        else text_of(each, name, number)
        for number, each in enumerate(column)
    ]


def text_of(value: object, name: str, number: int) -> str:
    """Return a name as text; an integer is the text of its digits, and 5.0 is an integer."""
    if type(value) is float and abs(value) < 2**53 and value.is_integer():
        value = int(value)
    if type(value) is int and abs(value) <= 2**53:
        return str(value)
    if type(value) is not str or not 0 < len(value) <= LONGEST_ID:
        raise bad_value("got " + shown(value), name, TEXT, number)
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise bad_value("it has a character that cannot be stored", name, TEXT, number)
    return value


def optional(
    rows: list[dict[str, Any]], name: str, read: Callable[[object, str, int], Any]
) -> list[Any]:
    """Return a column whose values may be missing or null."""
    return [
        None if (value := row.get(name)) is None else read(value, name, number)
        for number, row in enumerate(rows)
    ]


def time_of(value: object, name: str, number: int) -> float:
    """Return a time in seconds since 1970; text without a zone is in UTC."""
    if type(value) is str and len(value) <= 40:
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    elif type(value) in (int, float) and EARLIEST <= value <= LATEST:  # type: ignore[operator]
        return float(value) + 0.0  # type: ignore[arg-type]
    raise bad_value("got " + shown(value), name, TIME, number)


def times(
    rows: list[dict[str, Any]], name: str, seen: set[str], definition: Definition, now: float
) -> list[float]:
    """Return the times of rows: their `at`, or the server's time."""
    column: list[Any] = [None] * len(rows)
    if name in seen:
        column = optional(rows, name, time_of)
    if definition.clock == "client":
        if None in column:
            raise bad_value(
                'it is missing, and this stream has clock "client"', name, TIME, column.index(None)
            )
        return column
    if name not in seen:
        return [now] * len(rows)
    for number, at in enumerate(column):
        if at is not None and at > now + AHEAD:
            raise bad_value(
                "more than a day ahead of the server's clock", name,
                TIME + ' up to now; a stream with clock "client" takes any', number,
            )  # fmt: skip
    return [now if at is None else at for at in column]


def check_deadlines(
    definition: Definition, at: list[float], due: list[float | None] | None
) -> None:
    """Reject rows whose deadline is missing or not after their time."""
    if due is None:
        if definition.wait is None:
            raise bad_value("it is missing, and the stream has no after", "due", TIME, 0)
        return
    for number, (made, end) in enumerate(zip(at, due, strict=True)):
        if end is None and definition.wait is None:
            raise bad_value("it is missing, and the stream has no after", "due", TIME, number)
        if end is not None and end <= made:
            raise bad_value("it is not later than at", "due", "a time after at", number)
