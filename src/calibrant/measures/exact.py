"""The errors that the theory bounds: sums over the distinct predictions, without bins.

The pseudo errors count each prediction with the probability that it was drawn with.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, as_unit_series, check_same_length
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.distinct import Counts, distinct_of
from calibrant.measures.distributions import Distributions, Pair


def cal1(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the l1 calibration error, the sum over distinct predictions of n |rho - p|.

    n is how often p was predicted and rho the mean outcome of those rounds. The error is a sum,
    not a mean: it lies in [0, T], and is 0 for no rounds.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]; an outcome may be fractional.

    Examples
    --------
    >>> cal1([0.5, 0.5, 0.25], [1, 0, 0])
    0.25
    """
    return float(np.abs(distinct_of(*as_rounds(predictions, outcomes)).residual).sum())


def cal2(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the l2 calibration error, the sum over distinct predictions of n (rho - p)^2.

    A sum in [0, T], of the same arguments as `cal1`; ``cal1 <= sqrt(T * cal2)``.

    Examples
    --------
    >>> cal2([0.5, 0.5, 0.25], [1, 0, 0])
    0.0625
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    return float((distinct.residual**2 / distinct.count).sum())


def klcal(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the KL calibration error, the sum over distinct predictions of n KL(rho, p).

    A sum in [0, inf], in nats, of the same arguments as `cal1`. It is infinite exactly when an
    outcome that was given probability 0 occurs, in part or in full. By Pinsker's inequality
    ``2 * cal2 <= klcal``.

    Examples
    --------
    >>> round(klcal([0.5, 0.5, 0.25], [1, 0, 0]), 6)
    0.287682
    >>> klcal([0.0], [1])
    inf
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    return float(kl_terms(distinct.prediction, distinct.count, distinct.total).sum())


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
    return _pseudo_errors(distributions, outcomes)[1]


def pklcal(distributions: Distributions | Iterable[Pair], outcomes: npt.ArrayLike) -> float:
    """Return the pseudo KL calibration error, the sum over rounds of E[KL(rho_p, p)], p ~ P_t.

    It is `klcal` with probabilities in place of counts: a sum in [0, inf], in nats, and
    ``2 * pcal2 <= pklcal``. See `pcal2` for rho_p and for the arguments.

    Examples
    --------
    >>> round(pklcal([([0.25, 0.75], [0.5, 0.5]), ([0.25], [1.0])], [1, 0]), 6)
    0.169899
    """
    return _pseudo_errors(distributions, outcomes)[2]


def _pseudo_errors(
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


def kl_terms(prediction: Floats, count: Counts | Floats, total: Floats) -> Floats:
    """Return n KL(rho, p) of each distinct prediction."""
    residual = total - count * prediction
    happened = _share_terms(total, count, prediction, residual)
    failed = _share_terms(count - total, count, 1.0 - prediction, -residual)
    # KL is never negative; where rho = p, rounding can make it so.
    return np.maximum(happened + failed, 0.0)


def _share_terms(
    share: Floats, count: Counts | Floats, probability: Floats, residual: Floats
) -> Floats:
    """Return share * log(share / (n p)): 0 where the share is 0, else inf where p = 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = residual / (count * probability)
        near = np.abs(excess) < 0.5
        # Near 1 the logarithm of the quotient loses digits, which log1p keeps; far from 1 the
        # quotient may underflow, which a difference of logarithms does not.
        ratio = np.where(
            near,
            np.log1p(np.where(near, excess, 0.0)),
            np.log(share) - np.log(count) - np.log(probability),
        )
        return np.where(share > 0.0, share * ratio, 0.0)
