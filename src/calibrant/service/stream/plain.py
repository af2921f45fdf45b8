"""Conversion of values from and to JSON, in requests and responses."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from calibrant.service.problems import bad_value


class Real(NamedTuple):
    """A field of rows that holds a number: its name, what is allowed in words, and its range."""

    field: str
    words: str
    low: float
    high: float
    #: Other types that stand for a number.
    others: tuple[type, ...] = ()


def reals_of(rows: list[dict[str, Any]], real: Real) -> list[float]:
    """Return a column of finite numbers within their range, or refuse the first that is not."""
    name, allowed, low, high, others = real
    kinds = (float, int, *others)
    column: list[float] = []
    for row, given in enumerate(rows):
        value = given[name]
        try:
            # Adding 0.0 makes one of the two zeros, as databases do.
            found = float(value) + 0.0 if type(value) in kinds else math.nan
        except OverflowError:
            found = math.nan
        if not low <= found <= high:
            raise bad_value("got " + shown(value), name, allowed, row)
        column.append(found)
    return column


def shown(value: object) -> str:
    """Return a value for a message: as JSON, shortened."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: float) -> float | None:
    """Return a number for JSON: null if it is not finite."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Any) -> list[float | None]:
    """Return numbers for JSON."""
    return [number(each) for each in values.tolist()]
