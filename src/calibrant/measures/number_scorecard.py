"""A streaming scorecard of predicted distributions of numbers, in a state that does not grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import Floats, as_series, check_same_length
from calibrant.measures.quantile_functions import (
    as_levels,
    as_quantiles,
    probability_below,
    quantile_at,
)

#: The nominal coverage of the central intervals that are measured.
INTERVALS = (0.5, 0.8, 0.9)
#: The levels of their ends, the lower one of each first.
ENDS = [round((1.0 + side * each) / 2.0, 12) for each in INTERVALS for side in (-1, 1)]
PIT_BINS = 20


class IntervalFigures(NamedTuple):
    """Figures of central intervals: share of outcomes inside, mean width, mean Winkler score."""

    coverage: float
    covered: float
    width: float
    score: float


class NumberScorecard:
    """Sums over rounds of the measures in `measures.numbers`, however the rounds are split.

    Rounds with an infinite quantile count for coverage and the PIT, but not for measures in the
    unit of the outcomes.

    Parameters
    ----------
    levels : sequence of float
        The levels of the quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import NumberScorecard
    >>> card = NumberScorecard([0.05, 0.5, 0.95])
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> card.extend(np.tile([-1.645, 0.0, 1.645], (1000, 1)), y)
    >>> card.rounds, round(card.interval(0.9).covered, 2)
    (1000, 0.91)
    """

    __slots__ = ("_counts", "_sums", "infinite", "levels", "pit", "rounds")

    def __init__(self, levels: Sequence[float] | npt.NDArray[Any]) -> None:
        self.levels = as_levels(levels)
        self.rounds = self.infinite = 0
        #: How many outcomes were below each quantile, and at most there; inside each interval.
        self._counts = np.zeros(2 * len(self.levels) + len(INTERVALS), dtype=np.int64)
        #: Sums of outcomes, medians, pinball losses, then widths and scores of intervals.
        self._sums = np.zeros(3 + 2 * len(INTERVALS))
        #: How many outcomes fell into each twentieth of their distribution.
        self.pit = np.zeros(PIT_BINS, dtype=np.int64)

    def extend(self, quantiles: npt.ArrayLike, outcomes: npt.ArrayLike) -> None:
        """Add rounds, with a row of quantiles each."""
        q = as_quantiles(quantiles, len(self.levels))
        y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
        if q.ndim != 2 or not np.isfinite(y).all():
            raise ValueError("quantiles must have a row per round, and outcomes must be finite")
        check_same_length("quantiles", len(q), "outcomes", len(y))
        if not len(y):
            return
        self.rounds += len(y)
        ends = quantile_at(self.levels, q, ENDS)
        low, high = ends[:, ::2], ends[:, 1::2]
        at = y[:, None]
        self._counts += np.concatenate(
            [(at < q).sum(axis=0), (at <= q).sum(axis=0), ((low <= at) & (at <= high)).sum(axis=0)]
        ).astype(np.int64)
        bins = np.minimum(probability_below(self.levels, q, y) * PIT_BINS, PIT_BINS - 1)
        self.pit += np.bincount(bins.astype(np.int64), minlength=PIT_BINS)
        is_finite = np.isfinite(q).all(axis=1)
        self.infinite += int((~is_finite).sum())
        q, y, low, high = q[is_finite], y[is_finite], low[is_finite], high[is_finite]
        gap = y[:, None] - q
        losses = np.maximum(self.levels * gap, (self.levels - 1.0) * gap).mean(axis=1)
        miss = np.maximum(low - y[:, None], 0.0) + np.maximum(y[:, None] - high, 0.0)
        scores = high - low + 2.0 / (1.0 - np.array(INTERVALS)) * miss
        median = quantile_at(self.levels, q, 0.5)[:, 0]
        columns = np.column_stack([y, median, losses, high - low, scores])
        # One after the other: sums in portions would differ in their last bits.
        self._sums = np.cumsum(np.vstack([self._sums, columns]), axis=0)[-1]

    # -- looking --------------------------------------------------------------------------------

    @property
    def _finite(self) -> float:
        return self.rounds - self.infinite or np.nan

    @property
    def mean_outcome(self) -> float:
        """The mean outcome; NaN if there is none, as below."""
        return float(self._sums[0] / self._finite)

    @property
    def mean_median(self) -> float:
        """The mean of the medians."""
        return float(self._sums[1] / self._finite)

    @property
    def pinball(self) -> float:
        """The mean pinball loss over rounds and levels."""
        return float(self._sums[2] / self._finite)

    @property
    def below(self) -> Floats:
        """For each level, the share of outcomes below its quantile."""
        return np.asarray(self._counts[: len(self.levels)] / (self.rounds or np.nan))

    @property
    def at_most(self) -> Floats:
        """For each level, the share of outcomes at its quantile or below."""
        size = len(self.levels)
        return np.asarray(self._counts[size : 2 * size] / (self.rounds or np.nan))

    @property
    def error(self) -> float:
        """The mean distance of levels from their shares; ties count for either side."""
        if not self.rounds:
            return float("nan")
        off = np.maximum(self.below - self.levels, self.levels - self.at_most)
        return float(np.maximum(off, 0.0).mean())

    def interval(self, coverage: float) -> IntervalFigures:
        """Return the figures of the central intervals of 0.5, 0.8 or 0.9."""
        at = INTERVALS.index(coverage)
        covered = self._counts[2 * len(self.levels) + at] / (self.rounds or np.nan)
        width, score = self._sums[[3 + at, 3 + len(INTERVALS) + at]] / self._finite
        return IntervalFigures(coverage, float(covered), float(width), float(score))

    # -- saving ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        state = {"counts": self._counts, "sums": self._sums, "pit": self.pit}
        parameters = {"levels": self.levels.tolist(), "infinite": self.infinite}
        return pack(Saved("NumberScorecard", parameters, self.rounds, state))

    @classmethod
    def from_bytes(cls, blob: bytes | memoryview) -> NumberScorecard:
        """Return what `to_bytes` saved, or raise ValueError."""
        saved = unpack(bytes(blob), what="scorecard of numbers")
        try:
            card = cls(saved.parameters["levels"])
            card.rounds, card.infinite = saved.rounds, saved.parameters["infinite"]
            for name, array in (("counts", card._counts), ("sums", card._sums), ("pit", card.pit)):
                array[:] = saved.state[name]
        except (KeyError, TypeError) as error:
            raise ValueError(f"the saved scorecard is invalid: {error}") from None
        if not 0 <= card.infinite <= card.rounds or (card._counts < 0).any() or (
            card._counts > card.rounds).any():  # fmt: skip
            raise ValueError("the saved scorecard counts rounds that were not played")
        return card
