"""Hedging the outcomes of online Platt scaling."""

from __future__ import annotations

from calibrant._checks import check_integer, check_seed
from calibrant.forecasters.rivals import Foster1999
from calibrant.recalibrate.rivals.base import Rival
from calibrant.recalibrate.rivals.buckets import bucket_of, seeds_of
from calibrant.recalibrate.rivals.online_platt import OnlinePlatt


class HOPS(Rival):
    """Predict with Foster's forecaster of 1999, one for each bin of the Platt forecast.

    Gupta and Ramdas 2023, *Online Platt scaling with calibeating* (HOPS), with bins of width 0.1
    for both. Calibrated against any scores and outcomes, as `Foster1999` is in each bin. Left
    open by the source: which of several safe places Foster's forecaster takes; see `Foster1999`.

    Parameters
    ----------
    bins : int, default 10
        Number of equal bins of the forecast of `OnlinePlatt`, and of each forecaster's cells.
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
        self._bins = check_integer("bins", bins, 1, 2**12)
        self._platt = OnlinePlatt()
        self._forecasters = [
            Foster1999(self._bins, seed=own) for own in seeds_of(check_seed(seed), self._bins)
        ]
        self._chosen = self._forecasters[0]

    def _forecast(self, score: float) -> float:
        self._chosen = self._forecasters[bucket_of(self._platt._forecast(score), self._bins)]
        return self._chosen.predict()

    def _learn(self, outcome: float) -> None:
        self._chosen.update(outcome)
        self._platt._learn(outcome)
