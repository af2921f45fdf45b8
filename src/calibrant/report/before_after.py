"""Before and after a recalibration: in numbers, and in the sentences that the numbers decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_integer, check_same_length
from calibrant.measures import ReliabilityTable, Scorecard, WindowMeasures, smece
from calibrant.measures.binned import width_bins
from calibrant.measures.rounds import as_rounds, sum_by

#: Rounds of a window, and the fewest stretches that tell a change from chance.
WINDOW = 1000
STRETCHES = 20
#: Groups with fewer rounds are not singled out: their errors are mostly chance.
FEW_ROUNDS = 500


@dataclass(frozen=True, eq=False)
class Measured:
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
    worst : WindowMeasures or None
        The full window with the largest ECE; None with fewer than two full windows.
    worst_chance : float
        What chance alone would leave in that window; NaN without one.
    reliability : ReliabilityTable
        What was said and what happened, in ten bins.
    bins_used, bins_off : int
        Of these bins, those that hold a round, and those that disagree with their interval.

    Examples
    --------
    >>> measured = Measured.from_predictions([0.5, 0.5, 0.25, 0.25], [1, 0, 0, 0])
    >>> measured.cal1, measured.distinct
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
    worst: WindowMeasures | None
    worst_chance: float
    reliability: ReliabilityTable
    bins_used: int
    bins_off: int

    @classmethod
    def from_predictions(
        cls, predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, window: int = WINDOW
    ) -> Measured:
        """Measure probabilities with the outcomes that followed."""
        p, y = as_rounds(predictions, outcomes, mean=True)
        has_worst = len(p) >= 2 * window
        card = Scorecard(window=window if has_worst else None)
        card.extend(p, y)
        # The last window may not be full.
        worst = max(card.windows[: len(p) // window], key=attrgetter("ece")) if has_worst else None
        measures, reliability = card.summary(), card.reliability(bins=10)
        return cls(
            measures["brier"], measures["log_loss"], measures["cal1"], measures["cal2"],
            measures["ece"], smece(p, y), int(measures["distinct"]), chance_ece(p), worst,
            math.nan if worst is None else chance_ece(p[worst.start : worst.stop]),
            reliability, int((reliability.count > 0).sum()), int(reliability.off.sum()),
        )  # fmt: skip


@dataclass(frozen=True)
class GroupMeasured:
    """One group before and after; `raw` is None where the scores are no probabilities.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0], groups=["a", "b"])
    >>> [(part.group, round(part.calibrated.brier, 2)) for part in both.groups]
    [('a', 0.16), ('b', 0.16)]
    """

    group: Hashable
    rounds: int
    raw: Measured | None
    calibrated: Measured


@dataclass(frozen=True)
class Change:
    """A mean difference, and where it lies with 95 % confidence; NaN with too few rounds to say.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9] * 200, [0.5] * 200, [1, 0] * 100)
    >>> round(both.change.mean, 2), round(both.change.high, 2)
    (-0.16, -0.16)
    """

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
    raw : Measured or None
        The scores themselves; None where they are no probabilities.
    calibrated : Measured
        What became of them.
    change : Change or None
        Brier score, calibrated minus raw: negative is better.
    groups : list of GroupMeasured
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
    raw: Measured | None
    calibrated: Measured
    change: Change | None
    groups: list[GroupMeasured]

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
        after, y = as_rounds(calibrated, outcomes, mean=True)
        before = None if raw is None else as_rounds(raw, y)[0]
        rows_of: dict[Hashable, list[int]] = {}
        if groups is not None:
            check_same_length("groups", len(groups), "outcomes", len(y))
            for row, group in enumerate(groups):
                rows_of.setdefault(group, []).append(row)
        parts = [
            GroupMeasured(
                group,
                len(rows),
                None if before is None else Measured.from_predictions(before[rows], y[rows]),
                Measured.from_predictions(after[rows], y[rows]),
            )
            for group, rows in rows_of.items()
        ]
        return cls(
            len(y),
            float(y.mean()),
            window,
            None if before is None else Measured.from_predictions(before, y, window=window),
            Measured.from_predictions(after, y, window=window),
            None if before is None else mean_change((after - y) ** 2 - (before - y) ** 2),
            sorted(parts, key=attrgetter("rounds"), reverse=True),
        )

    @property
    def columns(self) -> dict[str, Measured]:
        """The columns that were measured, by name: "raw", if there is one, and "calibrated"."""
        after = {"calibrated": self.calibrated}
        return after if self.raw is None else {"raw": self.raw, **after}

    def findings(
        self,
        *,
        never: int = 0,
        place: Callable[[int], str] = lambda at: f"round {at + 1:,}",
    ) -> list[str]:
        """Return what to look at and what it means, in sentences, most important first.

        Parameters
        ----------
        never : int
            Outcomes that never arrived.
        place : callable
            What to call a round: its time, for instance.

        Examples
        --------
        >>> BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0]).findings()[0]
        'Too few rounds (2) to tell a change of the Brier score from chance: 0.4100 became 0.1600.'
        """
        before, after = self.raw, self.calibrated
        if before is None:
            said = [
                "The scores are margins, not probabilities, so there is no before to compare with. "
                f"Calibrated, they are off by {after.ece:.3f} in the mean."
            ]
        else:
            said = [
                self._loss_in_words(before.brier, after.brier),
                f"What was said was off what happened by {before.ece:.3f} in the mean (ECE) and is "
                f"off by {after.ece:.3f} now; chance alone would leave {after.chance:.3f}. "
                f"{before.bins_off} of {before.bins_used} bins disagreed with their 95 % interval; "
                f"now {after.bins_off} of {after.bins_used} do.",
            ]
            if before.worst is not None:
                worst = before.worst
                said.append(
                    f"In the scores' worst {self.window:,} rounds, from {place(worst.start)}, they "
                    f"were off by {worst.ece:.3f}: {worst.mean_prediction:.2f} was said in the "
                    f"mean, {worst.mean_outcome:.2f} happened."
                )
        if after.worst is not None:
            worst = after.worst
            said.append(
                f"In their worst {self.window:,} rounds, from {place(worst.start)}, the calibrated "
                f"probabilities are off by {worst.ece:.3f}, of which chance alone explains about "
                f"{after.worst_chance:.3f}: {worst.mean_prediction:.2f} was said in the mean, "
                f"{worst.mean_outcome:.2f} happened."
            )
        large = [part for part in self.groups if part.rounds >= FEW_ROUNDS]
        if len(large) > 1:
            furthest = max(large, key=attrgetter("calibrated.ece"))
            was = "" if furthest.raw is None else f"; before it was {furthest.raw.ece:.3f}"
            said.append(
                f"Of the {len(large)} groups with {FEW_ROUNDS} rounds or more, {furthest.group} is "
                f"furthest off: {furthest.calibrated.ece:.3f} in the mean over "
                f"{furthest.rounds:,} rounds{was}."
            )
        if never:
            said.append(
                f"{never:,} {'outcome' if never == 1 else 'outcomes'} never arrived: those rows "
                "have a probability, but nothing was learned from them."
            )
        return said

    def _loss_in_words(self, before: float, after: float) -> str:
        """Say whether the probabilities became better, worse or neither."""
        change = self.change
        assert change is not None
        if math.isnan(change.low):
            return (
                f"Too few rounds ({self.rounds:,}) to tell a change of the Brier score from "
                f"chance: {before:.4f} became {after:.4f}."
            )
        interval = f"{change.mean:+.4f}, 95 % interval {change.low:+.4f} to {change.high:+.4f}"
        if change.high < 0.0:
            percent = -100.0 * change.mean / before
            return (
                f"The probabilities became better: the Brier score fell from {before:.4f} to "
                f"{after:.4f}, by {percent:.1f} % ({interval})."
            )
        if change.low > 0.0:
            return (
                f"The probabilities became worse: the Brier score rose from {before:.4f} to "
                f"{after:.4f} ({interval})."
            )
        return (
            f"The Brier score did not change beyond chance: {before:.4f} became {after:.4f} "
            f"({interval})."
        )


def chance_ece(predictions: Floats, bins: int = 20) -> float:
    """Return the mean ECE of outcomes that have exactly the probabilities said, independently.

    The residuals of a bin then sum to a number with mean 0 and variance V, the sum of p (1 - p),
    and close to normal, so that its mean size is sqrt(2 V / pi).
    """
    which = width_bins(predictions, bins)
    variance = sum_by(which, predictions * (1.0 - predictions), bins)
    return float(np.sqrt(2.0 * variance / math.pi).sum() / len(predictions))


def mean_change(differences: Floats) -> Change:
    """Return the mean of differences with an interval that allows for neighbours being alike.

    The interval comes from the means of consecutive stretches (batch means), of which there are 20
    to 50: rounds within one may depend on each other, the stretches hardly do. With fewer than
    200 rounds no interval is given.
    """
    mean = float(differences.mean())
    if len(differences) < 10 * STRETCHES:
        return Change(mean, math.nan, math.nan)
    count = min(50, max(STRETCHES, len(differences) // WINDOW))
    means = np.array([part.mean() for part in np.array_split(differences, count)])
    # 2.1 is the 97.5 % point of Student's t with 19 degrees of freedom; with 49 it is 2.0.
    half = 2.1 * float(means.std(ddof=1)) / math.sqrt(count)
    return Change(mean, mean - half, mean + half)
