"""The reliability table: what was predicted beside what happened, with how sure one can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import check_integer
from calibrant.measures.binned import edges_of, width_bins
from calibrant.measures.rounds import Floats, Points, sum_by


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """One row a bin of equal width; arrays of the same length.

    Attributes
    ----------
    lower, upper : ndarray
        The edges of each bin, ``lower <= p < upper``; the last bin holds 1 too.
    count : ndarray of int
        Rounds in the bin.
    mean_prediction, mean_outcome : ndarray
        Means over those rounds, NaN in an empty bin.
    interval_low, interval_high : ndarray
        Wilson's interval for the mean outcome, [0, 1] in an empty bin.
    level : float
        The confidence level of the intervals.

    Notes
    -----
    Wilson's interval inverts the score test of a binomial share. Unlike the textbook interval it
    stays inside [0, 1], has a width at shares of 0 and 1, and covers at close to its level for
    few rounds. For fractional outcomes it errs on the safe side, since they vary less than
    outcomes of 0 and 1 with the same mean. It takes the rounds of a bin as independent.

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
    level: float

    def __len__(self) -> int:
        return len(self.count)


def reliability_table(points: Points, bins: int, level: float) -> ReliabilityTable:
    """Sort distinct predictions into bins of equal width."""
    bins = check_integer("bins", bins, 1)
    level = check_level(level)
    which = width_bins(points.prediction, bins)
    count = sum_by(which, points.rounds, bins)
    rounds = np.where(count > 0.0, count, np.nan)
    predicted = sum_by(which, points.rounds * points.prediction, bins) / rounds
    happened = sum_by(which, points.total, bins) / rounds
    low, high = wilson_interval(happened, count, level)
    edges = edges_of(bins)
    return ReliabilityTable(
        edges[:-1], edges[1:], count.astype(np.int64), predicted, happened, low, high, level
    )


def check_level(level: object) -> float:
    """Return a confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number):
        raise ValueError(f"level must be a number in (0, 1), got {level!r}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be in (0, 1), got {level!r}")
    return float(level)


def wilson_interval(share: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval for each share of so many rounds, [0, 1] where there are none."""
    # Here, because the import of statistics takes longer than that of this package.
    from statistics import NormalDist  # noqa: PLC0415

    z2 = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2
    share = np.where(count > 0.0, share, 0.5)
    middle = (count * share + z2 / 2.0) / (count + z2)
    half = math.sqrt(z2) * np.sqrt(count * share * (1.0 - share) + z2 / 4.0) / (count + z2)
    # Where the share is 0 or 1 the interval ends there; rounding may say otherwise by a hair.
    low = np.where(share == 0.0, 0.0, np.clip(middle - half, 0.0, 1.0))
    high = np.where(share == 1.0, 1.0, np.clip(middle + half, 0.0, 1.0))
    return low, high
