"""Zoom, the default forecaster."""

from __future__ import annotations

from typing import NamedTuple

from calibrant._checks import Floats, check_seed
from calibrant._kernels.zoom import ZoomKernel
from calibrant.forecasters.base import Forecaster


class Grid(NamedTuple):
    """The points that a Zoom predicts from.

    Attributes
    ----------
    points : array
        Probabilities, increasing. All have been inserted where the outcomes led.
    visits : array
        Rounds that predicted each point.
    bias : array
        Sum of prediction minus outcome over those rounds: positive where it over-predicts.

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
    """Predict from points that are inserted where the outcomes lead.

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
        """Return the points predicted so far or next, with their visits and biases.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> Zoom().grid().points
        array([0.5])
        """
        state = self._get_state()
        return Grid(state["z"][1:-1], state["n"][1:-1], state["S"][1:-1])
