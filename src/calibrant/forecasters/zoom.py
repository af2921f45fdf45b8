"""Zoom, a forecaster that refines its grid where the outcomes require it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats, check_seed
from calibrant._kernels.paper.zoom import ZoomKernel
from calibrant.forecasters.base import Forecaster

#: The number of visits from which Proposition 1 has 1 / visits for a point, instead of 1.
FEW = 8


class Grid(NamedTuple):
    """The points that a Zoom predicts from.

    Attributes
    ----------
    points : array
        Probabilities, increasing.
    visits : array
        Rounds that predicted each point.
    bias : array
        Sum of prediction minus outcome over those rounds: positive if predictions were too high.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> forecaster = Zoom()
    >>> _ = forecaster.run([1, 1, 0])
    >>> forecaster.grid().visits.sum()
    np.float64(3.0)
    """

    points: Floats
    visits: Floats
    bias: Floats


class Zoom(Forecaster, ZoomKernel):
    """Predict from an adaptive grid, which is fine near the truth and coarse elsewhere.

    Against any opponent who does not see the draws, its expected Cal2 is
    O(T^(1/3) log^(4/3) T), O(log^4 T + log^(8/3) T C^(1/3)) with C the deviation of the outcomes,
    and linear in K, up to logarithms, if their means change K times, without knowing T, C or K:
    Theorems 1 to 3 of docs/zoom-proof.md. That its bets help if means move is only measured.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Zoom
    >>> outcomes = np.random.default_rng(0).random(10_000) < 0.7
    >>> forecaster = Zoom(seed=7)
    >>> predictions = forecaster.run(outcomes)
    >>> bool(abs(predictions[-1000:].mean() - 0.7) < 0.05)
    True
    """

    __slots__ = ()

    def __init__(self, seed: int = 0) -> None:
        super().__init__(check_seed(seed))

    def grid(self) -> Grid:
        """Return the points that were predicted or may be next, with their visits and biases.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> Zoom().grid().points
        array([0.5])
        """
        z, n, S, _ = self._lives()
        points, at = np.unique(z, return_inverse=True)
        visits, bias = np.zeros((2, len(points)))
        np.add.at(visits, at, n)
        np.add.at(bias, at, S)
        return Grid(points, visits, bias)

    def certificate(self) -> float:
        """Return the bound of Theorem 1 on the expected Cal2 of this run.

        With B the bound on the sum of all costs, from the visits, the cuts and the widths of the
        gaps of this run, it is B / 2 plus the remaining term of Proposition 1 for each life of a
        visited point. If the outcomes were chosen without seeing the draws, the mean of Cal2 over
        the draws is at most the mean of this number; in a single run, Cal2 may exceed it by chance.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> from calibrant.measures import cal2
        >>> from calibrant.streams import iid
        >>> outcomes = iid(10_000, mean=0.3, seed=1).outcomes
        >>> forecaster = Zoom(seed=7)
        >>> error = cal2(forecaster.run(outcomes), outcomes)
        >>> print(f"Cal2 {error:.1f}, at most {forecaster.certificate():.0f} in expectation")
        Cal2 6.4, at most 46 in expectation
        """
        _, bound = self._theorem()
        visits = self._lives()[1]
        rest = np.where(visits < FEW, np.minimum(visits, 1.0), 1.0 / np.maximum(visits, FEW))
        return bound / 2.0 + float(rest.sum())
