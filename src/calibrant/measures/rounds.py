"""What every measure starts from: checked rounds, and their sums by distinct prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_unit_series, check_same_length

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]
Counts: TypeAlias = npt.NDArray[np.int64]


def as_rounds(
    predictions: object, outcomes: object, *, mean: bool = False
) -> tuple[Floats, Floats]:
    """Return both series as float64 arrays in [0, 1] of the same length, or raise ValueError.

    A `mean` needs at least one round.
    """
    p = as_unit_series(predictions, "predictions")
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("predictions", len(p), "outcomes", len(y))
    if mean and len(p) == 0:
        raise ValueError("predictions and outcomes must hold at least one round: a mean of none")
    return p, y


@dataclass(frozen=True, eq=False)
class DistinctTable:
    """One row a distinct prediction, ascending; arrays of the same length.

    Attributes
    ----------
    prediction : ndarray
        The predictions p.
    count : ndarray of int
        Rounds n that made each.
    total : ndarray
        The sums s of their outcomes.

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
    count: Counts
    total: Floats

    def __len__(self) -> int:
        return len(self.count)

    @property
    def mean_outcome(self) -> Floats:
        """The mean outcome of each (rho)."""
        return self.total / self.count

    @property
    def residual(self) -> Floats:
        """The sum of outcomes beyond what was predicted (r = s - n p)."""
        return self.total - self.count * self.prediction


def distinct_of(p: Floats, y: Floats) -> DistinctTable:
    """Sum checked rounds by distinct prediction."""
    values, which, count = np.unique(p, return_inverse=True, return_counts=True)
    return DistinctTable(values, count, sum_by(which, y, len(values)))


def sum_by(which: Indices, values: Floats | Counts, size: int) -> Floats:
    """Return the sum of the values of each of `size` groups, `which` being the group of each."""
    sums: Floats = np.bincount(which, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums
