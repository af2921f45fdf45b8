"""Almost-One-Step-Ahead, which stays close to calibrated predictions without randomising."""

from __future__ import annotations

from typing import Self

from calibrant._checks import check_integer, check_seed
from calibrant._kernels.rivals.aosa import AOSAKernel
from calibrant.forecasters.base import Forecaster


class AOSA(Forecaster, AOSAKernel):
    """Predict next to a shadow that sees each outcome before it chooses.

    Arunachaleswaran, Collina, Roth & Shi 2025, *An elementary predictor obtaining 2 sqrt(T) + 1
    distance to calibration*. Neighbours of the grid are taken whose shadow biases are at most 0
    and at least 0. One of them is predicted; then the shadow takes the one nearer to the outcome,
    which moves its bias towards 0 or past it by less than 1. The paper does not specify which pair
    is taken and which of the two is predicted: here the pair is found by bisection, and its lower
    point is predicted. The forecaster is deterministic.

    Proved, for outcomes 0 and 1: the shadow's Cal1 is at most m + 1, and it is never further from
    the prediction than 1/m, so the distance to calibration is at most m + 1 + T/m against any
    outcomes, which is 2 sqrt(T) + 1 for m = sqrt(T). Outcomes strictly between the two points can
    move a bias away from 0, by 1/(2m) each: T/(2m) more. Cal1 itself can be large.

    Parameters
    ----------
    gaps : int, default 128
        Gaps m of the grid 0, 1/m, ..., 1; at least 1.
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import AOSA
    >>> forecaster = AOSA.for_horizon(10_000)
    >>> forecaster
    AOSA(gaps=100, seed=0)
    >>> _ = forecaster.run([1, 1, 0, 1] * 2500)
    >>> abs(forecaster.predict() - 0.75) <= 0.02
    True
    """

    __slots__ = ()

    gaps: int

    def __init__(self, gaps: int = 128, *, seed: int = 0) -> None:
        super().__init__(check_seed(seed), check_integer("gaps", gaps, 1, 2**24))

    @classmethod
    def for_horizon(cls, horizon: int, *, seed: int = 0) -> Self:
        """Return the forecaster whose grid suits `horizon` rounds, sqrt(T) gaps."""
        rounds = check_integer("horizon", horizon, 1, 2**48)
        return cls(max(1, round(rounds**0.5)), seed=seed)
