"""Epoch, the paper's baseline for a stationary world."""

from __future__ import annotations

from typing import Self

from calibrant._checks import check_choice, check_seed
from calibrant._kernels.paper.epoch import EpochKernel
from calibrant.forecasters.base import Forecaster

DELTA = 0.05


class Epoch(Forecaster, EpochKernel):
    """Predict the mean outcome of the last epoch; epochs double in length.

    Algorithms `simple_block` (``measure="l2"``) and `simple_block_PKL` (``measure="kl"``) of
    Liu, Luo & Ratliff, *Adaptive Calibration in Non-Stationary Environments*. Proved for i.i.d.
    outcomes only: Cal1 = O(sqrt(T log T)) and Cal2 = O(log^2 T) for ``"l2"``, PKLCal = O(log^2 T)
    for ``"kl"``. Under drift the error grows in proportion to T.

    The second clips its prediction away from 0 and 1 by an angle of order sqrt(iota / s_m). The
    paper's iota, log(T / delta), is taken at the end of the epoch with delta = 0.05, so that no
    horizon has to be given. Its constant, 8 pi, is as printed: at realistic horizons, predictions
    of a rare event are too high (0.035 after 100,000 rounds without any event).

    Parameters
    ----------
    measure : {"l2", "kl"}, default "l2"
        The calibration error that the algorithm is designed for.
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant import Epoch
    >>> forecaster = Epoch()
    >>> [float(p) for p in forecaster.run([1, 1, 0, 1, 0, 1])]  # epochs of 2, then of 4 rounds
    [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    >>> forecaster.predict()
    0.5
    """

    __slots__ = ()

    measure: str

    def __init__(self, measure: str = "l2", *, seed: int = 0) -> None:
        kl = check_choice("measure", measure, ("l2", "kl")) == "kl"
        super().__init__(check_seed(seed), kl, DELTA)

    @classmethod
    def kl(cls, *, seed: int = 0) -> Self:
        """Return the forecaster designed for PKLCal.

        Examples
        --------
        >>> from calibrant import Epoch
        >>> Epoch.kl()
        Epoch(measure='kl', seed=0)
        """
        return cls("kl", seed=seed)
