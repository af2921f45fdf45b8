"""Measures over bins: the usual calibration errors, and reliability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, check_choice, check_integer, describe
from calibrant.measures.distinct import Counts, DistinctTable, Indices

Scheme: TypeAlias = Literal["width", "mass"]


def ece(
    predictions: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    bins: int = 20,
    scheme: Scheme = "width",
    norm: Literal[1, 2] = 1,
) -> float:
    """Return the expected calibration error over bins, in [0, 1].

    With d the difference of mean outcome and mean prediction in a bin and w its share of the
    rounds, this is the sum of w |d| (norm 1) or the root of the sum of w d^2 (norm 2).

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.
    bins : int
        How many bins.
    scheme : {"width", "mass"}
        Bins of equal width, [i/bins, (i+1)/bins), the last one closed, so that 0 and 1 are in
        real bins; or of equal mass, cut by rank. Equal predictions always share a bin, that of
        their middle rank.
    norm : {1, 2}
        Which mean of the differences.

    Examples
    --------
    >>> ece([0.0, 0.25, 1.0, 1.0], [0, 1, 1, 1])
    0.1875
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    bins = check_integer("bins", bins, 1)
    if norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got {describe(norm)}")
    which = bins_of(p, bins, scheme)
    residual = sum_by(which, y - p, bins)
    if norm == 1:
        return float(np.abs(residual).sum() / len(p))
    count = np.bincount(which, minlength=bins)
    return math.sqrt((residual**2 / np.maximum(count, 1)).sum() / len(p))


def debiased_ece2(
    predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, bins: int = 20, scheme: Scheme = "width"
) -> float:
    """Return an unbiased estimate of the squared l2 error, ``ece(..., norm=2) ** 2``.

    The plain square is too large, because the mean residual of a bin has a variance even when
    calibration is perfect; here the estimated variance is subtracted. The estimate can be
    negative, which means the same as 0. A bin with one round adds 0, because its residual cannot be
    distinguished from noise. The result lies in [-1, 1].

    Parameters
    ----------
    predictions, outcomes, bins, scheme
        As in `ece`.

    Notes
    -----
    Where a bin holds a single prediction and outcomes are 0 or 1 this is the estimator of Kumar,
    Liang and Ma, which takes rho (1 - rho) / (n - 1). Elsewhere theirs ignores that
    predictions vary within the bin; the variance of the residuals, used here, includes this.

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration.

    Examples
    --------
    >>> round(debiased_ece2([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0]), 6)
    0.0
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    bins = check_integer("bins", bins, 1)
    which = bins_of(p, bins, scheme)
    count = np.bincount(which, minlength=bins)
    mean = sum_by(which, y - p, bins) / np.maximum(count, 1)
    spread = sum_by(which, (y - p - mean[which]) ** 2, bins)
    noise = spread / np.maximum(count * (count - 1), 1)
    return float((count * np.where(count > 1, mean**2 - noise, 0.0)).sum() / len(p))


def sum_by(which: Indices, values: Floats | Counts, size: int) -> Floats:
    """Return the sums of values over `size` groups; `which` has the group of each value."""
    sums: Floats = np.bincount(which, weights=values, minlength=size).astype(np.float64, copy=False)
    return sums


def bins_of(p: Floats, bins: int, scheme: str = "width", count: Counts | None = None) -> Indices:
    """Return the bin of each prediction: of equal width, or of equal mass as `ece` has it.

    With `count`, predictions are distinct and ascending, and `count` says how often each was made.
    """
    if check_choice("scheme", scheme, ("width", "mass")) == "width":
        edges = np.arange(bins + 1) / bins
        return np.minimum(np.searchsorted(edges, p, side="right") - 1, bins - 1)
    if count is None:
        values, which, count = np.unique(p, return_inverse=True, return_counts=True)
        return bins_of(values, bins, scheme, count)[which]
    twice_middle = 2 * np.cumsum(count) - count
    return (twice_middle * bins) // (2 * int(count.sum()))


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """One row per bin; arrays of the same length.

    Attributes
    ----------
    lower, upper : ndarray
        The edges of each bin of equal width, ``lower <= p < upper``; the last bin also contains 1.
        For bins of equal mass, the smallest and the largest prediction, NaN if the bin is empty.
    count : ndarray of int
        Rounds in the bin.
    mean_prediction, mean_outcome : ndarray
        Means over those rounds, NaN in an empty bin.
    interval_low, interval_high : ndarray
        Wilson's interval for the mean outcome, [0, 1] in an empty bin.
    miscalibrated : ndarray of bool
        Whether the mean prediction lies outside the interval; False for an empty bin.
    level : float
        The confidence level of the intervals.
    scheme : {"width", "mass"}
        What is equal for all bins.

    Notes
    -----
    Wilson's interval inverts the score test of a binomial share. Unlike the textbook interval it
    stays inside [0, 1], has a positive width at shares of 0 and 1, and its coverage is close to its
    level even with few rounds. For fractional outcomes it is conservative, since they vary less
    than outcomes of 0 and 1 with the same mean. It assumes that the rounds of a bin are
    independent.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard()
    >>> card.extend([0.1, 0.2, 0.9, 0.9], [0, 0, 1, 0])
    >>> table = card.reliability(bins=2)
    >>> table.count, table.mean_outcome
    (array([2, 2]), array([0. , 0.5]))
    """

    lower: Floats
    upper: Floats
    count: npt.NDArray[np.int64]
    mean_prediction: Floats
    mean_outcome: Floats
    interval_low: Floats
    interval_high: Floats
    miscalibrated: npt.NDArray[np.bool_]
    level: float
    scheme: Scheme = "width"

    def __len__(self) -> int:
        return len(self.count)

    @property
    def ece(self) -> float:
        """The mean distance of mean outcome and mean prediction, like `ece` with these bins."""
        apart = np.abs(self.mean_outcome - self.mean_prediction)
        return float(np.nansum(self.count * apart) / self.count.sum())

    @classmethod
    def from_distinct(
        cls, distinct: DistinctTable, bins: int, level: float, scheme: Scheme = "width"
    ) -> ReliabilityTable:
        """Put distinct predictions into bins, of equal width or of equal mass as in `ece`."""
        bins = check_integer("bins", bins, 1)
        if isinstance(level, bool) or not isinstance(level, int | float | np.number):
            raise ValueError(f"level must be a number in (0, 1), got {level!r}")
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be in (0, 1), got {level!r}")
        p = distinct.prediction
        which = bins_of(p, bins, scheme, distinct.count)
        if scheme == "width":
            lower, upper = np.arange(bins) / bins, np.arange(1, bins + 1) / bins
        else:
            # Predictions ascend, so each bin is a stretch of them.
            first, last = [
                np.searchsorted(which, np.arange(bins), side) for side in ("left", "right")
            ]
            filled = first < last
            lower, upper = np.full(bins, np.nan), np.full(bins, np.nan)
            lower[filled], upper[filled] = p[first[filled]], p[last[filled] - 1]
        count = sum_by(which, distinct.count, bins)
        rounds = np.where(count > 0.0, count, np.nan)
        predicted = sum_by(which, distinct.count * p, bins) / rounds
        observed = sum_by(which, distinct.total, bins) / rounds
        # Imported here: statistics takes longer to import than this package.
        from statistics import NormalDist  # noqa: PLC0415

        # Wilson's interval, [0, 1] in an empty bin.
        z2 = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2
        share = np.where(count > 0.0, observed, 0.5)
        middle = (count * share + z2 / 2.0) / (count + z2)
        half = math.sqrt(z2) * np.sqrt(count * share * (1.0 - share) + z2 / 4.0) / (count + z2)
        # At a share of 0 or 1 the interval ends exactly there, which rounding may miss.
        low = np.where(share == 0.0, 0.0, np.clip(middle - half, 0.0, 1.0))
        high = np.where(share == 1.0, 1.0, np.clip(middle + half, 0.0, 1.0))
        return cls(
            lower,
            upper,
            count.astype(np.int64),
            predicted,
            observed,
            low,
            high,
            (predicted < low) | (predicted > high),
            float(level),
            scheme,
        )
