"""Pseudo calibration errors: those of the distributions that predictions are drawn from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_unit_series, check_same_length
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.distributions import Distributions, Pair


def pcal2(distributions: Distributions | Iterable[Pair], outcomes: npt.ArrayLike) -> float:
    """Return the pseudo l2 calibration error, the sum over rounds of E[(rho_p - p)^2], p ~ P_t.

    rho_p is the mean outcome of all rounds, weighted by the probability P_t(p) that each gave to
    p. It is `cal2` with probabilities in place of counts: a sum in [0, T]. For a forecaster that
    never randomises the two are the same.

    Parameters
    ----------
    distributions : Distributions, or iterable of (points, weights) pairs
        What each round's prediction was drawn from; T rounds.
    outcomes : array_like of shape (T,)
        Numbers in [0, 1].

    Examples
    --------
    >>> pcal2([([0.25, 0.75], [0.5, 0.5]), ([0.25], [1.0])], [1, 0])
    0.041666666666666664
    """
    return _errors(distributions, outcomes)[1]


def pklcal(distributions: Distributions | Iterable[Pair], outcomes: npt.ArrayLike) -> float:
    """Return the pseudo KL calibration error, the sum over rounds of E[KL(rho_p, p)], p ~ P_t.

    It is `klcal` with probabilities in place of counts: a sum in [0, inf], in nats, and
    ``2 * pcal2 <= pklcal``. See `pcal2` for rho_p and for the arguments.

    Examples
    --------
    >>> round(pklcal([([0.25, 0.75], [0.5, 0.5]), ([0.25], [1.0])], [1, 0]), 6)
    0.169899
    """
    return _errors(distributions, outcomes)[2]


def _errors(
    distributions: Distributions | Iterable[Pair], outcomes: npt.ArrayLike
) -> tuple[float, float, float]:
    """Return the three errors, with the probability of every point as its count."""
    if not isinstance(distributions, Distributions):
        distributions = Distributions.from_pairs(distributions)
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("distributions", len(distributions), "outcomes", len(y))
    tally = TallyKernel()
    tally.extend(
        distributions.points, np.repeat(y, np.diff(distributions.starts)), distributions.weights
    )
    return tally.errors
