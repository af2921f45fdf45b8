"""The mean of all outcomes, the older the less: what people do today when they expect drift."""

from __future__ import annotations

from calibrant._checks import check_real, check_seed
from calibrant._kernels.windows import ExponentialWindowKernel
from calibrant.forecasters.base import Forecaster


class ExponentialWindow(Forecaster, ExponentialWindowKernel):
    """Predict the mean of all outcomes, weighted by 2^(-age / halflife).

    Folklore. The weighted sum and the weighted count get one success and one failure on top that
    are never forgotten (Laplace's rule), so that predictions stay away from 0 and 1. Nothing is
    proved of its calibration: an adversary can make it wrong in every round. Almost no prediction
    is made twice, so its exact calibration errors are those of single outcomes.

    Parameters
    ----------
    halflife : float, default 500
        Rounds after which an outcome counts half, in [0.01, 1e9].
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

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
