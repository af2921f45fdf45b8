"""What every measure starts from: checked rounds, and their sums by distinct prediction."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_unit_series, check_same_length

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]


def as_rounds(predictions: object, outcomes: object) -> tuple[Floats, Floats]:
    """Return both series as float64 arrays in [0, 1] of the same length, or raise ValueError."""
    p = as_unit_series(predictions, "predictions")
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("predictions", len(p), "outcomes", len(y))
    return p, y


def as_some_rounds(predictions: object, outcomes: object) -> tuple[Floats, Floats]:
    """Return both series as `as_rounds` does, or raise ValueError if there is no round."""
    p, y = as_rounds(predictions, outcomes)
    if len(p) == 0:
        raise ValueError("predictions and outcomes must hold at least one round: a mean of none")
    return p, y


class Points(NamedTuple):
    """The distinct predictions, ascending, with their rounds and their sums of outcomes."""

    prediction: Floats
    rounds: Floats
    total: Floats

    @property
    def rate(self) -> Floats:
        """The mean outcome of each (rho)."""
        return self.total / self.rounds

    @property
    def residual(self) -> Floats:
        """The sum of outcomes beyond what was predicted (r = s - n p)."""
        return self.total - self.rounds * self.prediction


def points_of(p: Floats, y: Floats) -> Points:
    """Sum checked rounds by distinct prediction."""
    values, which = np.unique(p, return_inverse=True)
    rounds = sum_by(which, np.ones(len(p)), len(values))
    return Points(values, rounds, sum_by(which, y, len(values)))


def sum_by(which: Indices, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each of so many groups."""
    sums: Floats = np.bincount(which, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums
