"""The mean of the last outcomes: what people do today when they expect drift."""

from __future__ import annotations

from calibrant._checks import check_integer, check_seed
from calibrant._kernels.windows import SlidingWindowKernel
from calibrant.forecasters.base import Forecaster


class SlidingWindow(Forecaster, SlidingWindowKernel):
    """Predict the mean of the last outcomes, as (successes + 1) / (outcomes + 2).

    Folklore. Laplace's rule of succession keeps predictions away from 0 and 1; until the window
    is full, this is `RunningMean`. Nothing is proved of its calibration: an adversary can make it
    wrong in every round. It keeps `window` numbers, the outcomes themselves.

    Parameters
    ----------
    window : int, default 1000
        How many outcomes are remembered; at least 1.
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import SlidingWindow
    >>> forecaster = SlidingWindow(2)
    >>> _ = forecaster.run([0, 0, 0, 1, 1])
    >>> forecaster.predict()
    0.75
    """

    __slots__ = ()

    window: int

    def __init__(self, window: int = 1000, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("window", window, 1, 2**24))
