"""When the outcomes of many rounds become known: after how many predictions, and in which order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_listed, as_series, check_same_length
from calibrant._times import times_of

Integers = npt.NDArray[np.int64]
NONE = np.empty(0, dtype=np.int64)


class Arrivals(NamedTuple):
    """Outcomes in the order in which they become known, and those that never do.

    An outcome that becomes known when a prediction is made comes after it: clocks with coarse ticks
    cannot say which was first.
    """

    after: Integers  # by row: how many predictions are made before its outcome is known
    order: Integers
    never: list[int]

    @classmethod
    def of(cls, times: Any, available: Any, rounds: int) -> Arrivals:
        """Return the arrivals of outcomes that became `available` by the clock of `times`."""
        if times is None:
            raise ValueError("available needs times, by the same clock: when predictions were made")
        made = times_of(times, rounds, "times", "predictions")
        back = np.flatnonzero(np.diff(made) < 0.0)
        if len(back):
            raise ValueError(f"times must not decrease, they do at position {int(back[0]) + 1}")
        known = known_times(available, rounds)
        early = known < made
        if early.any():
            row = int(early.argmax())
            raise ValueError(f"available must not be before times, it is at position {row}")
        return cls.between(made, known)

    @classmethod
    def between(cls, made: Floats, known: Floats) -> Arrivals:
        """Return the arrivals from numbers, NaN for never; `made` does not decrease."""
        never = np.isnan(known)
        after = np.searchsorted(made, known, side="right").astype(np.int64)
        after = np.maximum(after, np.arange(1, len(made) + 1))
        order = np.lexsort((np.arange(len(made)), known, after))
        return cls(after, order[~never[order]], np.flatnonzero(never).tolist())

    def known_of(self, outcomes: npt.ArrayLike) -> Floats:
        """Return outcomes, of which those that never come may be anything."""
        y = np.array(as_series(outcomes, "outcomes"), dtype=np.float64)
        y[[row for row in self.never if row < len(y)]] = 0.0
        return y


#: Every outcome comes before the next prediction.
IMMEDIATE = Arrivals(NONE, NONE, [])


def known_times(available: Any, rounds: int) -> Floats:
    """Return when outcomes became known as numbers; NaN where they never did."""
    if isinstance(available, np.ndarray) and available.dtype.kind in "fM":
        never = np.isnan(available)
        listed: Any = available
    else:
        listed = as_listed(available, "available", "when each outcome became known")
        never = np.array([is_never(each) for each in listed], dtype=np.bool_)
    check_same_length("available", len(listed), "predictions", rounds)
    known = np.full(rounds, np.nan)
    some = np.flatnonzero(~never)
    kept = listed[some] if isinstance(listed, np.ndarray) else [listed[row] for row in some]
    known[some] = times_of(kept, len(some), "available", "outcomes")
    return known


def is_never(time: object) -> bool:
    """Whether a time stands for never: None, NaN or NaT."""
    return time is None or (isinstance(time, float | np.generic) and bool(np.isnan(time)))
