"""Hedging the outcomes of online Platt scaling."""

from __future__ import annotations

from functools import partial

from calibrant._checks import check_integer
from calibrant.forecasters.rivals import Foster1999
from calibrant.recalibrate.rivals.base import Rival
from calibrant.recalibrate.rivals.kuleshov_ermon import KuleshovErmon
from calibrant.recalibrate.rivals.online_platt import OnlinePlatt


class HOPS(Rival):
    """Predict with Foster's forecaster of 1999, one for each bin of the Platt forecast.

    Gupta and Ramdas 2023, *Online Platt scaling with calibeating* (HOPS), with bins of width 0.1
    for both. Calibrated against any scores and outcomes, as `Foster1999` is in each bin. Left
    open by the source: which of several safe places Foster's forecaster takes; see `Foster1999`.

    Parameters
    ----------
    bins : int, default 10
        Number of equal bins of the forecast of `OnlinePlatt`, and of each forecaster's own.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import HOPS
    >>> HOPS(seed=7).run([0.25, 0.25, 0.25], [1, 0, 0]).tolist()
    [0.45, 0.75, 0.55]
    """

    def __init__(self, bins: int = 10, *, seed: int = 0) -> None:
        super().__init__()
        bins = check_integer("bins", bins, 1, 2**12)
        self._platt = OnlinePlatt()
        self._hedge = KuleshovErmon(bins, partial(Foster1999, bins), seed=seed)

    def _forecast(self, score: float) -> float:
        return self._hedge._forecast(self._platt._forecast(score))

    def _learn(self, outcome: float) -> None:
        self._hedge._learn(outcome)
        self._platt._learn(outcome)
