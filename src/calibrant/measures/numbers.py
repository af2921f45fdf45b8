"""Measures of predicted distributions of numbers: losses, coverage, and the PIT of outcomes.

Quantiles are arrays of shape (rounds, levels), outcomes of shape (rounds,). Losses are means over
the rounds, the lower the better, in the unit of the outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_integer, check_real, check_same_length
from calibrant.measures.quantile_functions import (
    as_levels,
    as_quantiles,
    exact_crps,
    probability_below,
)


def pinball(quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the mean pinball (quantile) loss over rounds and levels.

    Examples
    --------
    >>> from calibrant.measures.numbers import pinball
    >>> round(pinball([[0.0, 1.0, 2.0]], [0.1, 0.5, 0.9], [1.5]), 4)
    0.15
    """
    tau, q, y = _checked(quantiles, levels, outcomes)
    return float(pinball_losses(q, tau, y).mean())


def pinball_losses(quantiles: Floats, levels: Floats, outcomes: Floats) -> Floats:
    """Return the pinball loss of every round and level."""
    with np.errstate(invalid="ignore"):
        gap = outcomes[:, None] - quantiles
        return np.asarray(np.where(gap > 0.0, levels * gap, (levels - 1.0) * gap))


def crps(quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the mean continuous ranked probability score, exact for the distribution as given.

    The distribution is straight in the logit between the levels, with exponential tails. Infinite
    where a quantile is.

    Examples
    --------
    >>> from calibrant.measures.numbers import crps
    >>> round(crps([[-1.0, 0.0, 1.0]], [0.1, 0.5, 0.9], [0.0]), 4)
    0.1758
    """
    tau, q, y = _checked(quantiles, levels, outcomes)
    return float(np.mean(exact_crps(tau, q, y)))


def interval_score(
    low: npt.ArrayLike, high: npt.ArrayLike, outcomes: npt.ArrayLike, coverage: float
) -> float:
    """Return the mean interval score of Winkler: the width, and 2 / (1 - coverage) times a miss.

    Examples
    --------
    >>> from calibrant.measures.numbers import interval_score
    >>> interval_score([0.0, 0.0], [10.0, 10.0], [5.0, 11.0], 0.9)
    20.0
    """
    ends = _interval(low, high, outcomes)
    inside = check_real("coverage", coverage, 0.0, 1.0)
    if inside in (0.0, 1.0):
        raise ValueError(f"coverage must be inside (0, 1), got {inside!r}")
    lower, upper, y = ends
    miss = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return float((upper - lower + 2.0 / (1.0 - inside) * miss).mean())


def interval_coverage(low: npt.ArrayLike, high: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the share of outcomes inside their intervals, the ends included.

    Examples
    --------
    >>> from calibrant.measures.numbers import interval_coverage
    >>> interval_coverage([0.0, 0.0], [10.0, 10.0], [5.0, 11.0])
    0.5
    """
    lower, upper, y = _interval(low, high, outcomes)
    return float(((y >= lower) & (y <= upper)).mean())


def rolling_coverage(
    low: npt.ArrayLike, high: npt.ArrayLike, outcomes: npt.ArrayLike, window: int = 500
) -> Floats:
    """Return the coverage in every window of so many rounds.

    Examples
    --------
    >>> from calibrant.measures.numbers import rolling_coverage
    >>> rolling_coverage([0.0] * 4, [1.0] * 4, [0.5, 2.0, 0.5, 0.5], window=2).tolist()
    [0.5, 0.5, 1.0]
    """
    lower, upper, y = _interval(low, high, outcomes)
    size = check_integer("window", window, 1, max(len(y), 1))
    inside = np.concatenate([[0.0], np.cumsum((y >= lower) & (y <= upper))])
    return np.asarray((inside[size:] - inside[:-size]) / size)


def level_coverage(quantiles: npt.ArrayLike, outcomes: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return, of each level, the shares of outcomes below and at most at its quantile.

    They differ by ties: a level is calibrated if it lies between the two.

    Examples
    --------
    >>> from calibrant.measures.numbers import level_coverage
    >>> below, at_most = level_coverage([[0.0, 1.0], [0.0, 1.0]], [0.0, 2.0])
    >>> below.tolist(), at_most.tolist()
    ([0.0, 0.5], [0.5, 0.5])
    """
    q = np.asarray(quantiles, dtype=np.float64)
    y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
    check_same_length("quantiles", len(q), "outcomes", len(y))
    return (y[:, None] < q).mean(axis=0), (y[:, None] <= q).mean(axis=0)


def pit(
    quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcomes: npt.ArrayLike, seed: int = 0
) -> Floats:
    """Return the probability integral transform of outcomes: uniform if all is calibrated.

    Where several quantiles tie with the outcome, a value between their levels is drawn.

    Examples
    --------
    >>> from calibrant.measures.numbers import pit
    >>> pit([[-1.0, 0.0, 1.0]], [0.1, 0.5, 0.9], [0.0]).tolist()
    [0.5]
    """
    tau, q, y = _checked(quantiles, levels, outcomes)
    found = probability_below(tau, q, y)
    ties = q == y[:, None]
    several = ties.sum(axis=1) > 1
    if several.any():
        lowest = np.where(ties[:, 0], 0.0, tau[ties.argmax(axis=1)])
        highest = np.where(ties[:, -1], 1.0, tau[len(tau) - 1 - ties[:, ::-1].argmax(axis=1)])
        drawn = lowest + np.random.default_rng(seed).random(len(y)) * (highest - lowest)
        found = np.where(several, drawn, found)
    return np.asarray(found)


@dataclass(frozen=True)
class PitHistogram:
    """A histogram of PIT values, and a test of whether it is flat.

    Attributes
    ----------
    counts : array
        Outcomes in each bin.
    statistic, p_value : float
        Pearson's chi-squared against equal bins. The p-value takes rounds to be independent.
    """

    counts: npt.NDArray[np.int64]
    statistic: float
    p_value: float


def pit_histogram(values: npt.ArrayLike, bins: int = 20) -> PitHistogram:
    """Return a histogram of PIT values with a test.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures.numbers import pit_histogram
    >>> histogram = pit_histogram(np.linspace(0.0005, 0.9995, 1000), bins=10)
    >>> histogram.counts.tolist()[:3], histogram.p_value
    ([100, 100, 100], 1.0)
    """
    p = np.asarray(as_series(values, "values"), dtype=np.float64)
    if not len(p) or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("values must be one or more numbers in [0, 1]")
    size = check_integer("bins", bins, 2)
    counts = np.bincount(np.minimum((p * size).astype(np.int64), size - 1), minlength=size)
    mean = len(p) / size
    statistic = float(((counts - mean) ** 2 / mean).sum())
    return PitHistogram(counts, statistic, chi_squared_tail(statistic, size - 1))


def chi_squared_tail(x: float, freedom: int) -> float:
    """Return the probability that a chi-squared variable exceeds x, by its finite series.

    Examples
    --------
    >>> from calibrant.measures.numbers import chi_squared_tail
    >>> round(chi_squared_tail(30.144, 19), 4), round(chi_squared_tail(18.307, 10), 4)
    (0.05, 0.05)
    """
    half = x / 2.0
    if half <= 0.0:
        return 1.0
    if freedom % 2 == 0:
        term = total = math.exp(-half)
        for k in range(1, freedom // 2):
            term *= half / k
            total += term
    else:
        total = math.erfc(math.sqrt(half))
        term = math.exp(-half) / math.sqrt(math.pi * half)
        for k in range(1, (freedom + 1) // 2):
            term *= half / (k - 0.5)
            total += term
    return min(1.0, total)


def _checked(
    quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcomes: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return levels, quantiles and outcomes that belong together."""
    tau = as_levels(levels)
    q = as_quantiles(quantiles, len(tau))
    y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
    if q.ndim != 2:
        raise ValueError(f"quantiles must have a row per round, got shape {q.shape}")
    check_same_length("quantiles", len(q), "outcomes", len(y))
    if not len(y) or not np.isfinite(y).all():
        raise ValueError("outcomes must be one or more finite numbers")
    return tau, q, y


def _interval(
    low: npt.ArrayLike, high: npt.ArrayLike, outcomes: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return the ends of intervals and outcomes that belong together."""
    lower, upper, y = (
        np.asarray(as_series(values, name), dtype=np.float64)
        for values, name in ((low, "low"), (high, "high"), (outcomes, "outcomes"))
    )
    check_same_length("low", len(lower), "outcomes", len(y))
    check_same_length("high", len(upper), "outcomes", len(y))
    if not len(y) or np.isnan(y).any() or not (lower <= upper).all():
        raise ValueError("intervals must be one or more, with low <= high, and outcomes numbers")
    return lower, upper, y
