"""Means of all or of the last outcomes, as in common practice."""

from __future__ import annotations

from calibrant._checks import check_integer, check_real, check_seed
from calibrant._kernels.rivals.running_mean import RunningMeanKernel
from calibrant._kernels.rivals.windows import ExponentialWindowKernel, SlidingWindowKernel
from calibrant.forecasters.base import Forecaster


class RunningMean(Forecaster, RunningMeanKernel):
    """Predict the mean of all outcomes so far, as (successes + 1) / (rounds + 2).

    Laplace's rule of succession keeps the first predictions away from 0 and 1. Almost no
    prediction is made twice, so its exact calibration errors are those of single outcomes and not
    informative; compare its binned error and its Brier score.

    Parameters
    ----------
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import RunningMean
    >>> forecaster = RunningMean()
    >>> _ = forecaster.run([1, 1])
    >>> forecaster.predict()
    0.75
    """

    __slots__ = ()

    def __init__(self, seed: int = 0) -> None:
        super().__init__(check_seed(seed))


class SlidingWindow(Forecaster, SlidingWindowKernel):
    """Predict the mean of the last outcomes, as (successes + 1) / (outcomes + 2).

    Folklore. Laplace's rule of succession keeps predictions away from 0 and 1; until the window
    is full, this is `RunningMean`. It is not calibrated against an adversary, who can make it
    wrong in every round. It keeps `window` numbers, the outcomes themselves.

    Parameters
    ----------
    window : int, default 1000
        How many outcomes are remembered; at least 1.
    seed
        As in `RunningMean`.

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


class ExponentialWindow(Forecaster, ExponentialWindowKernel):
    """Predict the mean of all outcomes, weighted by 2^(-age / halflife).

    Folklore. The weighted sum and the weighted count include one success and one failure that
    are never forgotten (Laplace's rule), so that predictions stay away from 0 and 1. It is not
    calibrated against an adversary, who can make it wrong in every round. Almost no prediction
    is made twice, so its exact calibration errors are those of single outcomes.

    Parameters
    ----------
    halflife : float, default 500
        Rounds after which an outcome counts half, in [0.01, 1e9].
    seed
        As in `RunningMean`.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import ExponentialWindow
    >>> forecaster = ExponentialWindow(1)
    >>> _ = forecaster.run([0, 0, 1])  # weights 1/4, 1/2, 1
    >>> round(forecaster.predict(), 4)  # (1 + 1) / (1.75 + 2)
    0.5333
    """

    __slots__ = ()

    halflife: float

    def __init__(self, halflife: float = 500.0, *, seed: int = 0) -> None:
        rounds = check_real("halflife", halflife, 0.01, 1e9)
        super().__init__(check_seed(seed), 2.0 ** (-1.0 / rounds))
