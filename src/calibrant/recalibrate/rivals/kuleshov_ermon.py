"""Kuleshov and Ermon's recalibration, a forecaster for each bin of the score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant._checks import check_integer, check_seed, describe
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.zoom import Zoom
from calibrant.recalibrate.rivals.base import Rival, bin_of


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
