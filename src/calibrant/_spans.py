"""Spans of time: how long to wait, as a number, a timedelta or text such as "30d"."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from calibrant._checks import describe

#: Seconds of each unit, the longest first.
UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}
ALLOWED = 'a positive number, a timedelta or text such as "30d", "12h" or "90min"'


class Span(NamedTuple):
    """A length: seconds if `is_time`, otherwise in the unit of whatever it is compared with."""

    length: float
    is_time: bool

    def __str__(self) -> str:
        return show_span(self.length) if self.is_time else f"{self.length:g}"


def as_span(value: object, name: str) -> Span:
    """Return a span, or say what is allowed.

    >>> as_span("90min", "after")
    Span(length=5400.0, is_time=True)
    >>> as_span(1500, "after")
    Span(length=1500.0, is_time=False)
    """
    span = Span(math.nan, False)
    if isinstance(value, Span):
        span = value
    elif isinstance(value, timedelta | np.timedelta64):
        seconds = value / np.timedelta64(1, "s") if isinstance(value, np.timedelta64) else None
        span = Span(float(value.total_seconds() if seconds is None else seconds), True)  # type: ignore[union-attr]
    elif isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(w|d|h|min|s)?\s*", value)
        if found:
            number, unit = found.groups()
            span = Span(float(number) * UNITS.get(unit, 1.0), unit is not None)
    elif not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating):
        span = Span(float(value) if value < 2**63 else math.inf, False)
    if not 0.0 < span.length < math.inf:
        raise ValueError(f"{name} must be {ALLOWED}, got {describe(value)}")
    return span


def show_span(seconds: float) -> str:
    """Return seconds as text that `as_span` reads, in the longest unit of which there is one.

    >>> show_span(7 * 86400.0), show_span(5400.0)
    ('7d', '1.5h')
    """
    for unit, size in list(UNITS.items())[1:]:
        if seconds >= size or unit == "s":
            return f"{seconds / size:.3g}{unit}"
    raise AssertionError


def round_up(length: float) -> float:
    """Return a length as two digits that are not below it: 30 stays, 2.61 becomes 2.7."""
    if length <= 0.0:
        return length
    unit = 10.0 ** (math.floor(math.log10(length)) - 1)
    return round(math.ceil(round(length / unit, 6)) * unit, 12)
