"""The times of rounds: enough of them to date the onset of an episode."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._checks import LONGEST, as_listed, check_same_length, describe

#: What a time is kept as. Dates are kept as their text.
Time = str | int | float
#: How many times are remembered; beyond that, every second one is forgotten.
MARKS = 1024


def as_time(value: object, name: str = "at") -> Time:
    """Return a time as it is kept: a number, or text."""
    if type(value) is str:
        return value
    if value != value:  # noqa: PLR0124 - a date that is none, or NaN
        raise ValueError(f"{name} must be a number, a date or text, got {describe(value)}")
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
        if not np.isnat(values).any():
            values = values.astype(str)
    elif isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1:
        check_same_length("times", len(values), "predictions", rounds)
        if np.isfinite(values).all():
            return list(values.tolist())  # nothing is left to check
    listed = as_listed(values, "times", "one time per round")
    check_same_length("times", len(listed), "predictions", rounds)
    return [as_time(value, "times") for value in listed]


@dataclass(slots=True, eq=False)
class Clock:
    """The times of some rounds, evenly spread over all."""

    every: int = 1
    marks: list[tuple[int, Time]] = field(default_factory=list)
    last: Time | None = None

    def note(self, round_: int, at: Time) -> None:
        """Remember the time of a round, unless it is not one of the evenly spaced rounds."""
        self.note_all(round_, [at])

    def note_all(self, first: int, times: Sequence[Time]) -> None:
        """Do what `note` does for consecutive rounds."""
        at = -first % self.every
        while at < len(times):
            self.marks.append((first + at, times[at]))
            if len(self.marks) > MARKS:
                self.every *= 2
                self.marks = [mark for mark in self.marks if mark[0] % self.every == 0]
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
            raise ValueError(f"saved times must be at most {MARKS}, one per round")
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
