"""Times as seconds since 1970: what contexts of the calendar are made of."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from calibrant._checks import Floats, as_listed, check_real, describe
from calibrant._kernels.contexts import MOST_TIME

#: A moment: seconds since 1970, or any date or time of Python or NumPy.
Time = float | datetime.date | np.datetime64
WANTED = "a date, a time, or seconds since 1970"


def second_of(time: object, name: str = "time") -> float:
    """Return one time in seconds since 1970; one with a time zone in UTC."""
    if isinstance(time, np.datetime64):
        seconds = float(time.astype("datetime64[us]").astype(np.int64)) / 1e6
        if np.isnat(time):
            raise ValueError(f"{name} must be {WANTED}, got NaT")
        return check_real(name, seconds, -MOST_TIME, MOST_TIME)
    if isinstance(time, datetime.date):
        if not isinstance(time, datetime.datetime):
            time = datetime.datetime(time.year, time.month, time.day)
        # A time without a zone is taken as it is written, whatever the machine's zone.
        return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(time, bool) or not isinstance(time, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be {WANTED}, got {describe(time)}")
    return check_real(name, time, -MOST_TIME, MOST_TIME)


def seconds_of(times: Any, size: int) -> Floats:
    """Return the times of `size` rounds, which must not decrease, in seconds since 1970."""
    array = times if isinstance(times, np.ndarray) else None
    if (
        array is not None
        and array.ndim == 1
        and array.dtype.kind == "M"
        and not np.isnat(array).any()
    ):
        seconds = array.astype("datetime64[us]").astype(np.int64) / 1e6
    elif array is not None and array.ndim == 1 and array.dtype.kind in "iuf":
        seconds = array.astype(np.float64)
    else:
        listed = as_listed(times, "times", "one time a round")
        seconds = np.array([second_of(each, "each time") for each in listed], dtype=np.float64)
    if len(seconds) != size:
        raise ValueError(f"times must be one a round ({size}), got {len(seconds)}")
    if not (np.abs(seconds) <= MOST_TIME).all():
        raise ValueError(f"times must be within {MOST_TIME:g} seconds of 1970")
    backwards = np.flatnonzero(np.diff(seconds) < 0.0)
    if len(backwards):
        raise ValueError(f"times must not decrease, they do at position {backwards[0] + 1}")
    return np.ascontiguousarray(seconds)
