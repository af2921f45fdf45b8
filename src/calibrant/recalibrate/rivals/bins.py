"""Rivals that learn bin by bin: a bin's mean outcome, or a forecaster of its own.

`Calibeating` and `KuleshovErmon` do so in bins of the score; `TOPS` and `HOPS` do the same in bins
of what `OnlinePlatt` makes of the score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from calibrant._checks import check_integer, check_seed, describe
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.rivals.foster_1999 import Foster1999
from calibrant.forecasters.zoom import Zoom
from calibrant.recalibrate.rivals.base import Rival
from calibrant.recalibrate.rivals.newton import OnlinePlatt


def bin_of(p: float, bins: int) -> int:
    """Return which of the bins [i/N, (i+1)/N), the last one closed, holds p."""
    return min(int(p * bins), bins - 1)


class Means:
    """The mean outcome of each bin."""

    def __init__(self, bins: int) -> None:
        self.visits = [0] * bins
        self.totals = [0.0] * bins
        self.chosen = 0

    def choose(self, at: int, otherwise: float) -> float:
        """Return the mean of a bin, or what to predict there at first."""
        self.chosen = at
        return self.totals[at] / self.visits[at] if self.visits[at] else otherwise

    def learn(self, outcome: float) -> None:
        """Count an outcome in the bin that was chosen last."""
        self.visits[self.chosen] += 1
        self.totals[self.chosen] += outcome


class Calibeating(Rival):
    """Predict the mean of the outcomes that followed the same score before.

    Foster and Hart 2023, *"Calibeating": beating forecasters at their own game*. Its Brier score
    exceeds that of the scores without their reliability part by O(log T) for each distinct score.
    Left open by the source: real scores hardly repeat, so they are first rounded to a grid; the
    forecast of a score without a past is the rounded score itself.

    Parameters
    ----------
    bins : int, default 20
        The scores are rounded to multiples of 1 / bins, the even one when in the middle.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import Calibeating
    >>> Calibeating().run([0.26, 0.25, 0.25], [1, 0, 0]).tolist()
    [0.25, 1.0, 0.5]
    """

    def __init__(self, bins: int = 20) -> None:
        super().__init__()
        self._bins = check_integer("bins", bins, 1, 2**24)
        self._means = Means(self._bins + 1)

    def _forecast(self, score: float) -> float:
        at = round(score * self._bins)
        return self._means.choose(at, at / self._bins)

    def _learn(self, outcome: float) -> None:
        self._means.learn(outcome)


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
        self._means = Means(self._bins)

    def _forecast(self, score: float) -> float:
        at = bin_of(self._platt._forecast(score), self._bins)
        return self._means.choose(at, (at + 0.5) / self._bins)

    def _learn(self, outcome: float) -> None:
        self._means.learn(outcome)
        self._platt._learn(outcome)


class KuleshovErmon(Rival):
    """Predict with a calibrated forecaster, one for each bin of the score.

    Kuleshov and Ermon 2017, *Estimating uncertainty online against an adversary*. Calibrated
    against any scores and outcomes, as its forecasters are. Left open by the source: the
    forecaster (any calibrated one will do) and the number of bins.

    Parameters
    ----------
    bins : int, default 10
        Number of equal bins of the score.
    forecaster : class or function, default Zoom
        Called with ``seed=`` for each bin, it returns a forecaster of calibrant.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.forecasters.rivals import RunningMean
    >>> from calibrant.recalibrate.rivals import KuleshovErmon
    >>> rival = KuleshovErmon(forecaster=RunningMean)
    >>> rival.run([0.25, 0.75, 0.25], [1, 0, 0]).round(3).tolist()
    [0.5, 0.5, 0.667]
    """

    def __init__(
        self, bins: int = 10, forecaster: Callable[..., Forecaster] = Zoom, *, seed: int = 0
    ) -> None:
        super().__init__()
        self._bins = check_integer("bins", bins, 1, 2**16)
        if not callable(forecaster):
            raise ValueError(
                f"forecaster must be a class or a function that takes a seed, "
                f"got {describe(forecaster)}"
            )
        # Seeds whose draws have nothing to do with each other, or with another seed's.
        seeds = np.random.SeedSequence(check_seed(seed)).generate_state(self._bins, np.uint64)
        self._forecasters = [forecaster(seed=own) for own in seeds.tolist()]
        self._chosen = self._forecasters[0]

    def _forecast(self, score: float) -> float:
        self._chosen = self._forecasters[bin_of(score, self._bins)]
        return self._chosen.predict()

    def _learn(self, outcome: float) -> None:
        self._chosen.update(outcome)


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
