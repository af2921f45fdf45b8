"""Times as people have them, on one clock of seconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from calibrant._checks import as_listed, check_same_length, describe

#: A time: a number by the caller's own clock, or a date and time.
Time = float | datetime | np.datetime64

WANTED = "a finite number or a date and time"


def time_of(at: object, name: str = "at") -> float:
    """Return a time as a number; a date and time as its seconds since 1970, without a zone in UTC.

    Examples
    --------
    >>> from datetime import datetime
    >>> from calibrant.forecasters.clock import time_of
    >>> time_of(12), time_of(datetime(1970, 1, 2))
    (12.0, 86400.0)
    """
    if isinstance(at, np.datetime64):
        at = at.astype("datetime64[us]").item()
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    is_number = isinstance(at, int | float | np.integer | np.floating) and not isinstance(at, bool)
    try:
        if is_number and math.isfinite(number := float(at)):  # type: ignore[arg-type]
            return number
    except OverflowError:
        pass
    raise ValueError(f"{name} must be {WANTED}, got {describe(at)}")


def times_of(at: Any, rounds: int, name: str = "at") -> list[float]:
    """Return the times of many rounds, from one a round or one for all of them."""
    if isinstance(at, int | float | datetime | np.datetime64):
        return [time_of(at, name)] * rounds
    listed = list(at) if isinstance(at, np.ndarray) and at.ndim else None
    if listed is None:
        listed = as_listed(at, name, "a time, or a sequence of times, one a round")
    check_same_length(name, len(listed), "scores", rounds)
    times = []
    for position, each in enumerate(listed):
        try:
            times.append(time_of(each, name))
        except ValueError as error:
            raise ValueError(f"{error} at position {position}") from None
    return times
