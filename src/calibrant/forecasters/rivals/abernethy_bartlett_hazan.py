"""Abernethy, Bartlett and Hazan's forecaster: calibration from online gradient ascent."""

from __future__ import annotations

import math
from typing import Self

from calibrant._checks import check_integer, check_real, check_seed
from calibrant._kernels.rivals.abernethy_bartlett_hazan import AbernethyBartlettHazanKernel
from calibrant.forecasters.base import Forecaster


class AbernethyBartlettHazan(Forecaster, AbernethyBartlettHazanKernel):
    """Mix two neighbours of a uniform grid so that a gradient learner gains nothing.

    Abernethy, Bartlett & Hazan 2011, *Blackwell approachability and no-regret learning are
    equivalent*, the section on calibration. A learner holds theta in [-1, 1]^(m+1), one number per
    grid point, and gains sum_k theta(k) w(k) (y - k/m), where w is the distribution of the
    prediction; it learns by gradient ascent, theta(k) += eta w(k) (y - k/m), clipped. (The paper's
    listing has the opposite sign, which drives theta away from the errors.) A point where theta
    vanishes is predicted, or neighbours with theta_lo > 0 > theta_hi, the lower in proportion to
    |theta_hi|: whatever the outcome, the learner gains at most 1/(2m). If several places qualify,
    the first one found by bisection is used.

    Proved: the residuals sum to T/(2m) + the learner's regret, sqrt((m + 1) T) at the rate of
    `for_horizon`; drawing from w adds sqrt((m + 1) T/2), in all E[Cal1] = O(T^(2/3)) for
    m = T^(1/3). Without a rate, the learner's falls as sqrt((m + 1)/t), which keeps the order.

    Parameters
    ----------
    gaps : int, default 32
        Gaps m of the grid 0, 1/m, ..., 1; at least 1.
    rate : float, optional
        The learner's rate eta, in [1e-9, 1e9]; sqrt((m + 1)/t) in round t by default.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].

    Examples
    --------
    >>> from calibrant.forecasters.rivals import AbernethyBartlettHazan
    >>> forecaster = AbernethyBartlettHazan.for_horizon(27_000)
    >>> forecaster.gaps, round(forecaster.rate, 4)
    (30, 0.0339)
    """

    __slots__ = ()

    gaps: int
    rate: float | None

    def __init__(self, gaps: int = 32, *, rate: float | None = None, seed: int = 0) -> None:
        count = check_integer("gaps", gaps, 1, 2**24)
        eta = 0.0 if rate is None else check_real("rate", rate, 1e-9, 1e9)
        super().__init__(check_seed(seed), count, eta)

    @classmethod
    def for_horizon(cls, horizon: int, *, seed: int = 0) -> Self:
        """Return the forecaster that suits T rounds: m = T^(1/3), eta = sqrt((m + 1)/T)."""
        rounds = check_integer("horizon", horizon, 1, 2**53)
        gaps = max(1, round(rounds ** (1 / 3)))
        return cls(gaps, rate=math.sqrt((gaps + 1) / rounds), seed=seed)
