"""Before and after: a model's scores beside what a recalibration made of them, in numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_integer, check_same_length
from calibrant.measures import ReliabilityTable, Scorecard, WindowScore, smece
from calibrant.measures.binned import width_bins
from calibrant.measures.rounds import as_some_rounds, sum_by

#: Rounds of a window, and the fewest stretches that tell a change from chance.
WINDOW = 1000
STRETCHES = 20


@dataclass(frozen=True, eq=False)
class Scores:
    """How good one column of probabilities was.

    Attributes
    ----------
    brier, log_loss, ece, smece : float
        Means, as in `calibrant.measures`; the ECE over 20 bins.
    cal1, cal2 : float
        Exact calibration errors, sums over the rounds.
    distinct : int
        How many different probabilities there are.
    chance : float
        The ECE that chance alone would leave in the mean, were every probability true.
    worst : WindowScore or None
        The full window with the largest ECE; None with fewer than two full windows.
    worst_chance : float
        What chance alone would leave in that window; NaN without one.
    reliability : ReliabilityTable
        What was said and what happened, in ten bins.

    Examples
    --------
    >>> scores = Scores.from_predictions([0.5, 0.5, 0.25, 0.25], [1, 0, 0, 0])
    >>> scores.cal1, scores.distinct
    (0.5, 2)
    """

    brier: float
    log_loss: float
    cal1: float
    cal2: float
    ece: float
    smece: float
    distinct: int
    chance: float
    worst: WindowScore | None
    worst_chance: float
    reliability: ReliabilityTable

    @classmethod
    def from_predictions(
        cls, predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, window: int = WINDOW
    ) -> Scores:
        """Score probabilities with the outcomes that followed."""
        p, y = as_some_rounds(predictions, outcomes)
        card = Scorecard(window=window)
        card.extend(p, y)
        full = [score for score in card.windows if score.stop - score.start == window]
        worst = max(full, key=lambda score: score.ece) if len(full) > 1 else None
        return cls(
            card.brier, card.log_loss, card.cal1, card.cal2, card.ece, smece(p, y),
            len(card.distinct()), chance_ece(p), worst,
            math.nan if worst is None else chance_ece(p[worst.start : worst.stop]),
            card.reliability(bins=10),
        )  # fmt: skip

    @property
    def bins_off(self) -> int:
        """Bins whose mean probability lies outside the interval for what happened."""
        table = self.reliability
        said = table.mean_prediction
        return int(np.count_nonzero((said < table.interval_low) | (said > table.interval_high)))

    @property
    def bins_used(self) -> int:
        """Bins that hold a round."""
        return int(np.count_nonzero(self.reliability.count))


@dataclass(frozen=True)
class GroupScores:
    """One group before and after; `raw` is None where the scores are no probabilities."""

    group: Hashable
    rounds: int
    raw: Scores | None
    calibrated: Scores


@dataclass(frozen=True)
class Change:
    """A mean difference, and where it lies with 95 % confidence; NaN with too few rounds to say."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """A model's scores and the recalibrated ones, on the rounds whose outcomes are known.

    Attributes
    ----------
    rounds : int
        Rounds with an outcome.
    mean_outcome : float
        The mean outcome.
    window : int
        Rounds of a window.
    raw : Scores or None
        The scores themselves; None where they are no probabilities.
    calibrated : Scores
        What became of them.
    change : Change or None
        Brier score, calibrated minus raw: negative is better.
    groups : list of GroupScores
        Each group by itself, the largest first.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0])
    >>> round(both.raw.brier, 2), round(both.calibrated.brier, 2)
    (0.41, 0.16)
    """

    rounds: int
    mean_outcome: float
    window: int
    raw: Scores | None
    calibrated: Scores
    change: Change | None
    groups: list[GroupScores]

    @classmethod
    def from_predictions(
        cls,
        raw: npt.ArrayLike | None,
        calibrated: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        groups: Sequence[Hashable] | None = None,
        window: int = WINDOW,
    ) -> BeforeAfter:
        """Compute everything.

        Parameters
        ----------
        raw : array_like or None
            The scores as probabilities; None where they are none.
        calibrated, outcomes : array_like
            What was made of them, and what happened, all in [0, 1].
        groups : sequence, optional
            The group of each round.
        window : int
            Rounds of a window.
        """
        window = check_integer("window", window, 1)
        after, y = as_some_rounds(calibrated, outcomes)
        before = None if raw is None else as_some_rounds(raw, y)[0]
        change = None
        if before is not None:
            change = mean_change((after - y) ** 2 - (before - y) ** 2)
        parts = []
        if groups is not None:
            check_same_length("groups", len(groups), "outcomes", len(y))
            for group, rows in rows_of(groups).items():
                own = None if before is None else Scores.from_predictions(before[rows], y[rows])
                then = Scores.from_predictions(after[rows], y[rows])
                parts.append(GroupScores(group, len(rows), own, then))
        return cls(
            len(y), float(y.mean()), window,
            None if before is None else Scores.from_predictions(before, y, window=window),
            Scores.from_predictions(after, y, window=window),
            change, sorted(parts, key=lambda part: -part.rounds),
        )  # fmt: skip


def chance_ece(predictions: Floats, bins: int = 20) -> float:
    """Return the mean ECE of outcomes that have exactly the probabilities said, independently.

    The residuals of a bin then sum to a number with mean 0 and variance V, the sum of p (1 - p),
    and close to normal, so that its mean size is sqrt(2 V / pi).

    Examples
    --------
    >>> import numpy as np
    >>> round(chance_ece(np.full(1000, 0.5)), 4)
    0.0126
    """
    which = width_bins(predictions, bins)
    variance = sum_by(which, predictions * (1.0 - predictions), bins)
    return float(np.sqrt(2.0 * variance / math.pi).sum() / len(predictions))


def mean_change(differences: Floats) -> Change:
    """Return the mean of differences with an interval that allows for neighbours being alike.

    The interval comes from the means of consecutive stretches (batch means), of which there are 20
    to 50: rounds within one may depend on each other, the stretches hardly do. With fewer than
    200 rounds no interval is given.

    Examples
    --------
    >>> import numpy as np
    >>> mean_change(np.full(1000, 0.5))
    Change(mean=0.5, low=0.5, high=0.5)
    """
    mean = float(differences.mean())
    if len(differences) < 10 * STRETCHES:
        return Change(mean, math.nan, math.nan)
    count = min(50, max(STRETCHES, len(differences) // WINDOW))
    means = np.array([part.mean() for part in np.array_split(differences, count)])
    # 2.1 is the 97.5 % point of Student's t with 19 degrees of freedom; with 49 it is 2.0.
    half = 2.1 * float(means.std(ddof=1)) / math.sqrt(count)
    return Change(mean, mean - half, mean + half)


def rows_of(groups: Sequence[Hashable]) -> dict[Hashable, npt.NDArray[np.intp]]:
    """Return the rows of each group, in order of first appearance."""
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return {group: np.array(where) for group, where in rows.items()}
