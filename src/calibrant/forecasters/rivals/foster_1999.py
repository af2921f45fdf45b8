"""Foster's forecaster of 1999, which mixes two neighbouring bins."""

from __future__ import annotations

from typing import Self

from calibrant._checks import check_integer, check_seed
from calibrant._kernels.rivals.foster_1999 import Foster1999Kernel
from calibrant.forecasters.base import Forecaster


class Foster1999(Forecaster, Foster1999Kernel):
    """Predict the middle of a bin whose outcomes agree with it, or mix two bins that disagree.

    Foster 1999, *A proof of calibration via Blackwell's approachability theorem*. A bin has an
    excess when the mean of its outcomes lies above its upper end, a deficit when it lies below its
    lower end. A bin with neither is predicted; otherwise two neighbours, the lower with an
    excess e and the upper with a deficit d, the lower with probability d / (d + e). Excess and
    deficit are sums over the bin's rounds, as the approachability argument requires. If several
    places qualify, the first one found by bisection is used.

    Proved: the squares of excesses and deficits grow by at most 1 a round on average, hence
    E[Cal1] <= T/(2N) + sqrt(N T) against any outcomes, which is 1.5 T^(2/3) for N = T^(1/3) bins.

    Parameters
    ----------
    bins : int, default 32
        Number N of equal bins; at least 1.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.forecasters.rivals import Foster1999
    >>> forecaster = Foster1999.for_horizon(125)
    >>> forecaster
    Foster1999(bins=5, seed=0)
    >>> forecaster.predict()
    0.5
    """

    __slots__ = ()

    bins: int

    def __init__(self, bins: int = 32, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("bins", bins, 1, 2**24))

    @classmethod
    def for_horizon(cls, horizon: int, *, seed: int = 0) -> Self:
        """Return the forecaster with the number of bins for `horizon` rounds, T^(1/3)."""
        rounds = check_integer("horizon", horizon, 1)
        return cls(max(1, round(rounds ** (1 / 3))), seed=seed)
