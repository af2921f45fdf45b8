"""Times as people have them, on one clock of seconds."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from calibrant._checks import Floats, as_listed, check_same_length, describe

#: A time: a number by the caller's own clock, or any date or time of Python or NumPy.
Time = float | date | np.datetime64
DATES = (date, np.datetime64)

#: Units of NumPy's dates in which a number may be beyond what microseconds reach.
COARSE = ("Y", "M", "W", "D", "h", "m", "s", "ms")
WANTED = "a date, a time or a finite number"


def time_of(time: object, name: str = "at") -> float:
    """Return a time as a number; a date as its seconds since 1970, without a zone in UTC.

    Examples
    --------
    >>> from datetime import date, datetime
    >>> from calibrant._times import time_of
    >>> time_of(12), time_of(date(1970, 1, 2)), time_of(datetime(1970, 1, 2, 1))
    (12.0, 86400.0, 90000.0)
    """
    if isinstance(time, np.datetime64) and not np.isnat(time):
        return float(seconds_of(np.asarray(time), name))
    if isinstance(time, date) and time == time:  # noqa: PLR0124 - pandas has a date that is none
        if not isinstance(time, datetime):
            time = datetime(time.year, time.month, time.day)
        # A time without a zone is taken as it is written, whatever the machine's zone.
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    is_number = isinstance(time, int | float | np.integer | np.floating)
    try:
        if is_number and not isinstance(time, bool) and math.isfinite(number := float(time)):  # type: ignore[arg-type]
            return number
    except OverflowError:
        pass
    raise ValueError(f"{name} must be {WANTED}, got {describe(time)}")


def times_of(times: Any, rounds: int, name: str = "at", beside: str = "scores") -> Floats:
    """Return the times of many rounds, one each; `beside` names what else has one per round."""
    array = times if isinstance(times, np.ndarray) and times.ndim == 1 else None
    if array is not None and array.dtype.kind == "M" and not np.isnat(array).any():
        found = seconds_of(array, name)
    elif array is not None and array.dtype.kind in "iuf" and np.isfinite(array).all():
        found = np.array(array, dtype=np.float64)
    else:
        found = np.array(one_by_one(times, name), dtype=np.float64)
    check_same_length(name, len(found), beside, rounds)
    return found


def times_or_one(times: Any, rounds: int, name: str = "at") -> Floats:
    """Return the times of many rounds, from one each or one for all of them."""
    if isinstance(times, int | float | date | np.generic):
        return np.full(rounds, time_of(times, name))
    return times_of(times, rounds, name)


def rising_times(times: Any, rounds: int, most: float) -> Floats:
    """Return the times of many rounds, which must not decrease, nor be more than `most` from 0."""
    found = times_of(times, rounds, "at", "outcomes")
    if not (np.abs(found) <= most).all():
        raise ValueError(f"at must be within {most:g} seconds of 1970")
    backwards = np.flatnonzero(np.diff(found) < 0.0)
    if len(backwards):
        raise ValueError(f"at must not decrease, it does at position {backwards[0] + 1}")
    return found


def one_by_one(times: Any, name: str) -> list[float]:
    """Return times of any sort as numbers, or name the first that is none."""
    # `tolist` would make integers of some dates.
    is_dates = getattr(getattr(times, "dtype", None), "kind", None) == "M" and times.shape
    listed = list(times) if is_dates else as_listed(times, name, "times, one per round")
    found = []
    for position, each in enumerate(listed):
        try:
            found.append(time_of(each, name))
        except ValueError as error:
            raise ValueError(f"{error} at position {position}") from None
    return found


def seconds_of(dates: np.ndarray[Any, np.dtype[np.datetime64]], name: str) -> Floats:
    """Return dates of NumPy, none of them NaT, as seconds since 1970."""
    fine = dates.astype("datetime64[us]")
    if np.datetime_data(dates.dtype)[0] in COARSE and (fine.astype(dates.dtype) != dates).any():
        raise ValueError(f"{name} must be within 290,000 years of 1970, got {describe(dates)}")
    return fine.astype(np.int64) / 1e6
