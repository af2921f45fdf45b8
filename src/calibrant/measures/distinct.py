"""The sums of rounds by distinct prediction, from which every exact measure is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats

Indices: TypeAlias = npt.NDArray[np.intp]
Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistinctTable:
    """One row per distinct prediction, ascending; arrays of the same length.

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
    return DistinctTable(values, count, np.bincount(which, y).astype(np.float64))
