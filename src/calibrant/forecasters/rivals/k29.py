"""Defensive forecasting by the algorithms K29 and K29*."""

from __future__ import annotations

import math
from typing import Self

from calibrant._checks import check_integer, check_real, check_seed
from calibrant._kernels.rivals.k29 import K29Kernel
from calibrant.forecasters.base import Forecaster


class K29(Forecaster, K29Kernel):
    """Predict where a kernel average of past residuals vanishes.

    Vovk, Takemura & Shafer 2005, *Defensive forecasting*: p is a root of
    S(p) = sum K(p, p_i) (y_i - p_i) over the past rounds, 1 when S is positive at both ends of
    [0, 1] and 0 when it is negative at both. K is Gaussian, exp(-(p - q)^2 / (2 width^2)).

    As published, a round costs O(t) and every prediction is new. Here predictions are grid points
    j/N, so that S is kept at N + 1 points and a round costs O(N): a bisection over the grid finds
    neighbours between which S changes sign, and the one with the smaller |S| is predicted, which is
    the root of the line between them, rounded. The forecaster is deterministic, so an adversary can
    make Cal1 large; the error with respect to smooth tests is small.

    Proved: the norm of sum (y_i - p_i) K(p_i, .) in the kernel's space is at most
    sqrt(T) + T/(2 N width), where the second term is due to the grid; the sum of f(p_i)
    (y_i - p_i) is at most that times the norm of f, for every f in the space.

    Parameters
    ----------
    gaps : int, default 256
        Gaps N of the grid 0, 1/N, ..., 1; at least 1.
    width : float, default 0.1
        Standard deviation of the kernel, in [1e-6, 1e6].
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import K29
    >>> forecaster = K29.for_horizon(10_000)
    >>> forecaster
    K29(gaps=100, width=0.1, seed=0)
    >>> _ = forecaster.run([1, 1, 0, 1] * 2500)
    >>> abs(forecaster.predict() - 0.75) < 0.02
    True
    """

    __slots__ = ()

    gaps: int
    width: float

    def __init__(self, gaps: int = 256, *, width: float = 0.1, seed: int = 0) -> None:
        super().__init__(*checked(gaps, width, seed), False)

    @classmethod
    def for_horizon(cls, horizon: int, *, width: float = 0.1, seed: int = 0) -> Self:
        """Return the forecaster whose grid suits `horizon` rounds, sqrt(T) gaps."""
        return cls(gaps_for(horizon), width=width, seed=seed)


class K29Star(Forecaster, K29Kernel):
    """Predict where a kernel average of residuals vanishes, including the coming one.

    Vovk 2005, *Non-asymptotic calibration and resolution*: `K29` with S(p) + K(p, p) (1 - 2p)/2 in
    place of S(p), which takes the square of the coming residual into account and pulls towards 1/2
    while little is known. Kernel, grid and rounding are those of K29. (Some later papers call this
    algorithm K29.)

    Proved: the norm that K29 bounds is at most sqrt(sum p_i (1 - p_i)), hence sqrt(T)/2, when p is
    a root; on the grid, at most sqrt((1/4 + 1/N) T) + T/(2 N width).

    Parameters
    ----------
    gaps, width, seed
        As in `K29`.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import K29Star
    >>> forecaster = K29Star()
    >>> _ = forecaster.run([1, 1, 0, 1] * 2500)
    >>> abs(forecaster.predict() - 0.75) < 0.02
    True
    """

    __slots__ = ()

    gaps: int
    width: float

    def __init__(self, gaps: int = 256, *, width: float = 0.1, seed: int = 0) -> None:
        super().__init__(*checked(gaps, width, seed), True)

    @classmethod
    def for_horizon(cls, horizon: int, *, width: float = 0.1, seed: int = 0) -> Self:
        """Return the forecaster whose grid suits `horizon` rounds, sqrt(T) gaps."""
        return cls(gaps_for(horizon), width=width, seed=seed)


def checked(gaps: int, width: float, seed: int) -> tuple[int, int, float]:
    """Return seed, gaps and width for the kernel, or raise ValueError."""
    count = check_integer("gaps", gaps, 1, 2**24)
    spread = check_real("width", width, 1e-6, 1e6)
    return check_seed(seed), count, spread


def gaps_for(horizon: int) -> int:
    """Return the number of gaps for a number of rounds."""
    return max(1, round(math.sqrt(check_integer("horizon", horizon, 1, 2**48))))
