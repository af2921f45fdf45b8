"""The running mean: what people do today."""

from __future__ import annotations

from calibrant._checks import check_seed
from calibrant._kernels.running_mean import RunningMeanKernel
from calibrant.forecasters.base import Forecaster


class RunningMean(Forecaster, RunningMeanKernel):
    """Predict the mean of all outcomes so far, as (successes + 1) / (rounds + 2).

    Laplace's rule of succession keeps the first predictions away from 0 and 1. Almost no
    prediction is made twice, so its exact calibration errors are those of single outcomes and say
    little; compare its binned error and its Brier score.

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
