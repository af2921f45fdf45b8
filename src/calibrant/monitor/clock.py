"""The times of rounds: enough of them remembered to say when an episode began."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._checks import LONGEST, as_listed, check_same_length, describe

#: What a time is kept as. Dates are kept as their text.
Time = str | int | float
#: Rounds whose times are remembered; when they are more, every second one is forgotten.
MARKS = 1024


def as_time(value: object, name: str = "at") -> Time:
    """Return a time as it is kept: a number, or text."""
    if type(value) is str:
        return value
    if isinstance(value, np.generic):
        value = str(value) if value.dtype.kind in "mM" else value.item()
    if isinstance(value, date):  # a datetime is one
        value = value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{name} must be a number, a date or text, got {describe(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if isinstance(value, int) and value.bit_length() > LONGEST:
        raise ValueError(f"{name} must be a number of at most {LONGEST} bits")
    return value


def as_times(values: object, rounds: int) -> list[Time]:
    """Return a time for each round, or raise ValueError."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        values = values.astype(str)
    elif is_finite(values, rounds):
        return list(values.tolist())  # type: ignore[attr-defined]
    listed = as_listed(values, "times", "one time a round")
    check_same_length("times", len(listed), "predictions", rounds)
    return [as_time(value, "times") for value in listed]


def is_finite(values: object, rounds: int) -> bool:
    """Whether values are an array of finite numbers, one a round: nothing is left to check."""
    is_plain = isinstance(values, np.ndarray) and values.shape == (rounds,)
    return is_plain and values.dtype == np.float64 and bool(np.isfinite(values).all())  # type: ignore[attr-defined, call-overload]


class Clock:
    """The times of some rounds, evenly spread over all."""

    __slots__ = ("every", "last", "marks")

    def __init__(self) -> None:
        self.every = 1
        self.marks: list[tuple[int, Time]] = []
        self.last: Time | None = None

    def note(self, round_: int, at: Time) -> None:
        """Remember that a round was at that time, or forget it, as the others are spread."""
        self.last = at
        if round_ % self.every == 0:
            self.marks.append((round_, at))
            if len(self.marks) > MARKS:
                self.every *= 2
                self.marks = [mark for mark in self.marks if mark[0] % self.every == 0]

    def note_all(self, first: int, times: Sequence[Time]) -> None:
        """Do what `note` does for consecutive rounds."""
        at = -first % self.every
        while at < len(times):
            self.note(first + at, times[at])
            at += -(first + at + 1) % self.every + 1
        if times:
            self.last = times[-1]

    def at(self, round_: int) -> Time | None:
        """Return the last remembered time that is not after a round."""
        found = bisect_right(self.marks, round_, key=lambda mark: mark[0])
        return self.marks[found - 1][1] if found else None

    def save(self) -> dict[str, Any]:
        """Return what is remembered, as JSON has it."""
        return {
            "every": self.every,
            "last": self.last,
            "rounds": [round_ for round_, _ in self.marks],
            "times": [at for _, at in self.marks],
        }

    @classmethod
    def load(cls, saved: dict[str, Any], rounds: int) -> Clock:
        """Return what `save` saved, or raise ValueError."""
        clock = cls()
        numbers, times = saved["rounds"], [as_time(at, "saved time") for at in saved["times"]]
        if len(numbers) != len(times) or len(times) > MARKS:
            raise ValueError(f"saved times must be at most {MARKS}, one a round")
        if any(type(each) is not int for each in (*numbers, saved["every"])):
            raise ValueError("saved times must belong to rounds")
        rising = all(a < b for a, b in pairwise(numbers))
        if not rising or (numbers and not 0 <= numbers[0] <= numbers[-1] < rounds):
            raise ValueError("saved times must belong to rounds, in order")
        if not 1 <= saved["every"] <= 2**53 or any(each % saved["every"] for each in numbers):
            raise ValueError("saved times must be evenly spread")
        clock.every, clock.marks = saved["every"], list(zip(numbers, times, strict=True))
        clock.last = None if saved["last"] is None else as_time(saved["last"], "saved time")
        return clock
