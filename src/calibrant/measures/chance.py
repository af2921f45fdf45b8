"""What chance alone explains of an error, of a mean, and of a difference between two losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from calibrant._checks import Floats
from calibrant.measures.binned import Scheme, bins_of, sum_by
from calibrant.measures.distinct import Counts

#: The confidence level of every interval and band on a page.
LEVEL = 0.95
#: A stretch has at least ten rounds.
STRETCHES, MOST_STRETCHES, STRETCH = 20, 50, 1000
#: Their number is halved down to this; with so few, a larger correlation is not taken as real.
FEWEST, MOST_LEFT = 6, 0.8
#: The stretches agree on a change if those that contradict it have at most this share of the
#: weight.
AGAINST = 0.02
#: How many differences are kept; beyond that, sums of neighbours are kept.
MOST_KEPT = 2**17


@dataclass(frozen=True)
class Change:
    """A mean difference with its 95% confidence interval; NaN if there are too few rounds.

    Attributes
    ----------
    mean, low, high : float
        The mean difference and the ends of its interval.
    is_unsettled : bool
        Whether even the longest stretches are correlated, so that the interval is only a guess.

    Examples
    --------
    >>> from calibrant.report import BeforeAfter
    >>> both = BeforeAfter.from_predictions([0.9] * 200, [0.5] * 200, [1, 0] * 100)
    >>> brier, log_loss = both.changes
    >>> round(brier.mean, 2), round(brier.high, 2)
    (-0.16, -0.1)
    """

    mean: float
    low: float
    high: float
    is_unsettled: bool = False

    @property
    def rounds_needed(self) -> float:
        """By what factor rounds must increase for the interval to exclude 0, if the mean stays.

        Examples
        --------
        >>> Change(-0.01, -0.03, 0.01).rounds_needed
        4.0
        """
        return ((self.high - self.low) / 2.0 / abs(self.mean)) ** 2 if self.mean else math.inf


@dataclass(eq=False)
class Differences:
    """Differences between two losses of the same rounds, and their mean with an interval.

    The interval is for the mean of what was expected when the predictions were made (Henzi &
    Ziegel 2022, Choe & Ramdas 2023): which of two forecasters is better may change at any time,
    and that is not taken for chance. Chance is what no prediction could know: the surprise of a
    round, which is its difference minus the one to be expected if the predictions are right. A
    drift that one of the two follows does not show in the surprises; shocks that pending rounds
    share do.

    The variance of the mean surprise is the largest of three estimates: that of independent
    rounds, that from the means of 20 to 50 consecutive stretches (batch means), and that from
    longer ones: while neighbouring stretches are correlated by more than chance explains, their
    number is halved, and the remaining correlation widens the interval, unless hardly any stretch
    contradicts the change. The coverage is measured in `benchmarks/checks.md`. With fewer than 200
    rounds there is no interval. Memory is bounded: beyond 131,072 differences, sums of neighbours
    are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures.chance import Differences
    >>> differences = Differences()
    >>> differences.extend(np.tile([-0.1, -0.3], 500))
    >>> round(differences.change().mean, 3)
    -0.2
    """

    _sums: Floats = field(default_factory=partial(np.empty, (2, 0)))  # of values, of surprises
    _counts: Floats = field(default_factory=partial(np.empty, 0))
    _size: int = 1  # differences in one of the sums
    _squares: float = 0.0  # of surprises

    def extend(self, values: Floats, expected: Floats | float = 0.0) -> None:
        """Add differences, and what each would be on average if the predictions were right.

        Without the latter, all variation of the differences is taken for chance.
        """
        surprises = values - expected
        self._squares += float((surprises**2).sum())
        starts = np.arange(0, len(values), self._size)
        if len(starts):
            more = np.add.reduceat(np.stack([values, surprises]), starts, axis=1)
            self._sums = np.concatenate([self._sums, more], axis=1)
            self._counts = np.append(self._counts, np.diff(starts, append=len(values)))
        while len(self._counts) > MOST_KEPT:
            pairs = np.arange(0, len(self._counts), 2)
            self._sums = np.add.reduceat(self._sums, pairs, axis=1)
            self._counts = np.add.reduceat(self._counts, pairs)
            self._size *= 2

    def change(self, level: float = LEVEL) -> Change:
        """Return the mean difference, with its interval."""
        rounds = int(self._counts.sum())
        mean, surprise = [float(each) for each in self._sums.sum(axis=1) / rounds]
        if rounds < 10 * STRETCHES:
            return Change(mean, math.nan, math.nan)
        count = min(MOST_STRETCHES, max(STRETCHES, rounds // STRETCH))
        values, means = first = self._means(count)
        while (alike := correlation(means)) > 1.0 / math.sqrt(count) and count > FEWEST:
            count //= 2
            means = self._means(count)[1]
        half = max(half_width(first[1], level), half_width(means, level))
        is_unsettled = alike > 1.0 / math.sqrt(count)
        # A change in the middle of the rows also makes stretches correlated. But if hardly any
        # stretch contradicts it, there is no fluctuation, and the first interval is sufficient.
        sides = [float(np.maximum(sign * values, 0.0).sum()) for sign in (1.0, -1.0)]
        if is_unsettled and min(sides) <= AGAINST * max(sides):
            plain = student(level, len(values) - 1) * float(first[1].std(ddof=1))
            half, is_unsettled = min(half, plain / math.sqrt(len(values))), False
        variance = max(self._squares / rounds - surprise**2, 0.0)  # of independent rounds
        half = max(half, normal(level) * math.sqrt(variance / rounds))
        return Change(mean, mean - half, mean + half, is_unsettled)

    def _means(self, count: int) -> Floats:
        """Return the means of values and surprises in so many stretches of nearly equal length."""
        rounds = int(self._counts.sum())
        share, left = divmod(rounds, count)
        ends = np.arange(1, count) * share + np.minimum(np.arange(1, count), left)
        # Sums may hold unequal numbers of rounds.
        cuts = np.searchsorted(np.cumsum(self._counts), ends, side="right")
        starts = np.append(0, cuts)
        sums = np.add.reduceat(self._sums, starts, axis=1)
        return np.asarray(sums / np.add.reduceat(self._counts, starts))


def half_width(means: Floats, level: float) -> float:
    """Return half the width of the interval of the mean of these stretches.

    Their correlation adds to the variance as in an autoregression. One degree of freedom is used
    for the mean and one for the correlation.
    """
    left = min(max(correlation(means), 0.0), MOST_LEFT)
    spread = float(means.std(ddof=1)) * math.sqrt((1.0 + left) / (1.0 - left))
    return student(level, len(means) - 2) * spread / math.sqrt(len(means))


def correlation(means: Floats) -> float:
    """Return the correlation of neighbours, corrected for its small-sample bias, (1 + 3 r) / n.

    Examples
    --------
    >>> import numpy as np
    >>> round(correlation(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])), 2)
    0.98
    """
    rest = means - means.mean()
    total = float((rest**2).sum())
    found = float((rest[1:] * rest[:-1]).sum()) / total if total else 0.0
    return found + (1.0 + 3.0 * max(found, 0.0)) / len(means)


def normal(level: float) -> float:
    """Return how many standard deviations around a normal mean have this probability."""
    # Imported here: statistics takes longer to import than this package.
    from statistics import NormalDist  # noqa: PLC0415

    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def student(level: float, freedom: int) -> float:
    """Return the same for Student's t, from the first terms of its expansion in 1 / freedom.

    With 3 degrees of freedom or more it is right to two digits at the levels used here.
    """
    z = normal(level)
    terms = (
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
        (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0,
    )
    return z + sum(term / float(freedom) ** (power + 1) for power, term in enumerate(terms))


def chance_ece(
    predictions: Floats,
    count: Counts | None = None,
    bins: int = 20,
    *,
    scheme: Scheme = "width",
    at_most: bool = False,
) -> float:
    """Return the mean ECE of independent outcomes that have exactly the predicted probabilities.

    The residuals of a bin then sum to a nearly normal number with mean 0 and variance V, the sum of
    p (1 - p), so its mean absolute value is sqrt(2 V / pi). With `at_most`, return the value below
    which the ECE stays in 95 of 100 cases. With `count`, predictions are distinct and ascending,
    and `count` says how often each was made.
    """
    p, n = np.unique(predictions, return_counts=True) if count is None else (predictions, count)
    variance = sum_by(bins_of(p, bins, scheme, n), n * p * (1.0 - p), bins)
    left = ece_left_at_most(variance) if at_most else ece_left(variance)
    return float(left) / int(n.sum())


def ece_left(variance: Floats) -> Floats:
    """Return the mean of the sum of absolute residuals with these variances, bin by bin."""
    return np.asarray(np.sqrt(2.0 * variance / math.pi).sum(axis=-1))


def ece_left_at_most(variance: Floats) -> Floats:
    """Return the value below which that sum stays in 95 of 100 cases.

    The absolute residual of each bin has variance V (1 - 2 / pi), and their sum is close to normal.
    """
    spread = np.sqrt(variance.sum(axis=-1) * (1.0 - 2.0 / math.pi))
    return np.asarray(ece_left(variance) + normal(2.0 * LEVEL - 1.0) * spread)


def chance_mean(predictions: Floats, count: Counts | int = 1) -> float:
    """Return how far the mean outcome is from the mean prediction at most, in 95 of 100 cases."""
    rounds = len(predictions) if isinstance(count, int) else int(count.sum())
    variance = float((count * predictions * (1.0 - predictions)).sum())
    return normal(LEVEL) * math.sqrt(variance) / rounds


def dispersion_of(predictions: Floats, outcomes: Floats, waits: Floats) -> float:
    """Return the variance of residuals relative to that of independent outcomes; at least 1.

    `waits` says how many others were predicted before the outcome of each was known. Rounds that
    are pending together may share a shock, while residuals of rounds that are not are uncorrelated
    if the predictions are true. So residuals are summed over blocks of as many rounds as are
    usually pending, and the variance of these sums, with the covariance of neighbours, is compared
    with that of independent outcomes. The estimate is good for many blocks; with fewer than 20 it
    is 1.
    """
    block = int(np.median(some)) if len(some := waits[np.isfinite(waits)]) else 0
    count = len(outcomes) // block if block else 0
    if count < STRETCHES:
        return 1.0
    residuals = (outcomes - predictions)[: count * block]
    sums = residuals.reshape(count, block).sum(axis=1)
    observed = float((sums**2).sum() + 2.0 * (sums[1:] * sums[:-1]).sum())
    predicted = predictions[: count * block]
    return max(1.0, observed / max(float((predicted * (1.0 - predicted)).sum()), 1e-12))
