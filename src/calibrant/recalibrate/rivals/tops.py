"""Tracking the outcomes of online Platt scaling."""

from __future__ import annotations

from calibrant._checks import check_integer
from calibrant.recalibrate.rivals.base import Rival, bin_of
from calibrant.recalibrate.rivals.online_platt import OnlinePlatt


class TOPS(Rival):
    """Predict the mean of the past outcomes in the bin of the Platt forecast.

    Gupta and Ramdas 2023, *Online Platt scaling with calibeating* (TOPS), with bins of width 0.1.
    Left open by the source: the forecast of a bin without a past, which is its middle here.

    Parameters
    ----------
    bins : int, default 10
        Number of equal bins of the forecast of `OnlinePlatt`.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import TOPS
    >>> TOPS().run([0.25, 0.25, 0.25], [1, 0, 0]).tolist()
    [0.25, 1.0, 0.5]
    """

    def __init__(self, bins: int = 10) -> None:
        super().__init__()
        self._bins = check_integer("bins", bins, 1, 2**24)
        self._platt = OnlinePlatt()
        self._visits = [0] * self._bins
        self._totals = [0.0] * self._bins
        self._bin = 0

    def _forecast(self, score: float) -> float:
        self._bin = bin_of(self._platt._forecast(score), self._bins)
        visits = self._visits[self._bin]
        return self._totals[self._bin] / visits if visits else (self._bin + 0.5) / self._bins

    def _learn(self, outcome: float) -> None:
        self._visits[self._bin] += 1
        self._totals[self._bin] += outcome
        self._platt._learn(outcome)
