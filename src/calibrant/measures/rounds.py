"""What every measure starts from: checked rounds, and their sums by distinct prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_unit_series, check_same_length

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]


def as_rounds(
    predictions: object, outcomes: object, *, mean: bool = False
) -> tuple[Floats, Floats]:
    """Return both series as float64 arrays in [0, 1] of the same length, or raise ValueError.

    For a `mean` there must be a round: of none it is not defined.
    """
    p = as_unit_series(predictions, "predictions")
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("predictions", len(p), "outcomes", len(y))
    if mean and len(p) == 0:
        raise ValueError("predictions and outcomes must hold at least one round: a mean of none")
    return p, y


class Distinct(NamedTuple):
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


@dataclass(frozen=True, eq=False)
class DistinctTable:
    """One row a distinct prediction, ascending; arrays of the same length.

    Attributes
    ----------
    prediction : ndarray
        The predictions.
    count : ndarray of int
        Rounds that made each.
    mean_outcome : ndarray
        Their mean outcomes.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard()
    >>> card.extend([0.5, 0.25, 0.5], [1, 0, 0])
    >>> table = card.distinct()
    >>> table.prediction, table.count, table.mean_outcome
    (array([0.25, 0.5 ]), array([1, 2]), array([0. , 0.5]))
    """

    prediction: Floats
    count: npt.NDArray[np.int64]
    mean_outcome: Floats

    def __len__(self) -> int:
        return len(self.count)


def distinct_of(p: Floats, y: Floats) -> Distinct:
    """Sum checked rounds by distinct prediction."""
    values, which = np.unique(p, return_inverse=True)
    return Distinct(
        values, sum_by(which, np.ones(len(p)), len(values)), sum_by(which, y, len(values))
    )


def sum_by(which: Indices, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each of so many groups."""
    sums: Floats = np.bincount(which, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums
