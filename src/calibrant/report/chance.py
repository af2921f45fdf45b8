"""What chance alone leaves: of an error, of a mean, and of a difference between two losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats
from calibrant.measures.binned import Scheme, bins_of
from calibrant.measures.rounds import sum_by

#: The confidence level of every interval and band on a page.
LEVEL = 0.95
#: A stretch has at least ten rounds; of how many a difference is cut into, see `mean_change`.
STRETCHES, MOST_STRETCHES, STRETCH = 20, 50, 1000


@dataclass(frozen=True)
class Change:
    """A mean difference, and where it lies with 95 % confidence; NaN with too few rounds to say.

    Examples
    --------
    >>> from calibrant.report import BeforeAfter
    >>> both = BeforeAfter.from_predictions([0.9] * 200, [0.5] * 200, [1, 0] * 100)
    >>> round(both.change.mean, 2), round(both.change.high, 2)
    (-0.16, -0.16)
    """

    mean: float
    low: float
    high: float


def mean_change(differences: Floats, *, level: float = LEVEL) -> Change:
    """Return the mean of differences with an interval that allows for neighbours being alike.

    The interval comes from the means of consecutive stretches (batch means), of which there are 20
    to 50: rounds within one may depend on each other, the stretches hardly do. With fewer than
    200 rounds no interval is given.
    """
    mean = float(differences.mean())
    if len(differences) < 10 * STRETCHES:
        return Change(mean, math.nan, math.nan)
    count = min(MOST_STRETCHES, max(STRETCHES, len(differences) // STRETCH))
    means = np.array([part.mean() for part in np.array_split(differences, count)])
    half = student(level, count - 1) * float(means.std(ddof=1)) / math.sqrt(count)
    return Change(mean, mean - half, mean + half)


def normal(level: float) -> float:
    """Return how many standard deviations hold a normal number with this probability."""
    # Imported here: statistics takes longer to import than this package.
    from statistics import NormalDist  # noqa: PLC0415

    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def student(level: float, freedom: int) -> float:
    """Return the same for Student's t, from the first terms of its expansion in 1 / freedom.

    With 19 degrees of freedom or more it is right to three digits at the levels used here.
    """
    z = normal(level)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    return z + first / freedom + second / freedom**2


def chance_ece(predictions: Floats, bins: int = 20, *, scheme: Scheme = "width") -> float:
    """Return the mean ECE of outcomes that have exactly the probabilities said, independently.

    The residuals of a bin then sum to a number with mean 0 and variance V, the sum of p (1 - p),
    and close to normal, so that its mean size is sqrt(2 V / pi).
    """
    variance = _variance(predictions, bins, scheme)
    return float(np.sqrt(2.0 * variance / math.pi).sum() / len(predictions))


def chance_ece_limit(predictions: Floats, bins: int = 20, *, scheme: Scheme = "width") -> float:
    """Return the ECE that such outcomes stay below in 95 of 100 cases.

    The size of each bin's residual has variance V (1 - 2 / pi), and their sum is close to normal.
    """
    spread = math.sqrt(_variance(predictions, bins, scheme).sum() * (1.0 - 2.0 / math.pi))
    above = normal(2.0 * LEVEL - 1.0) * spread / len(predictions)
    return chance_ece(predictions, bins, scheme=scheme) + above


def chance_mean(predictions: Floats, dispersion: float = 1.0) -> float:
    """Return how far the mean outcome may lie from the mean prediction, in 95 of 100 cases."""
    variance = dispersion * float((predictions * (1.0 - predictions)).sum())
    return normal(LEVEL) * math.sqrt(variance) / len(predictions)


def dispersion_of(predictions: Floats, outcomes: Floats, waits: Floats) -> float:
    """Return how many times as much residuals vary as if outcomes were independent; at least 1.

    `waits` says how many others were predicted before the outcome of each was known. Rounds that
    wait together may share a shock, while residuals of rounds that do not are uncorrelated if the
    predictions are true. So residuals are summed over blocks of as many rounds as usually wait, and
    the variance of these sums, with the covariance of neighbours, is set against that of
    independent outcomes. It is an estimate, good for many blocks; with fewer than 20 it is 1.
    """
    block = int(np.median(some)) if len(some := waits[np.isfinite(waits)]) else 0
    count = len(outcomes) // block if block else 0
    if count < STRETCHES:
        return 1.0
    residuals = (outcomes - predictions)[: count * block]
    sums = residuals.reshape(count, block).sum(axis=1)
    observed = float((sums**2).sum() + 2.0 * (sums[1:] * sums[:-1]).sum())
    said = predictions[: count * block]
    return max(1.0, observed / max(float((said * (1.0 - said)).sum()), 1e-12))


def _variance(predictions: Floats, bins: int, scheme: Scheme) -> Floats:
    which = bins_of(predictions, bins, scheme)
    return sum_by(which, predictions * (1.0 - predictions), bins)
