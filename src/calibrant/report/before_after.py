"""Before and after a recalibration: in numbers, and in the sentences that the numbers decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_integer, check_same_length
from calibrant.measures import ReliabilityTable, Scorecard, WindowMeasures
from calibrant.measures.binned import reliability_table
from calibrant.measures.rounds import as_rounds
from calibrant.measures.smooth_ece import smece_of
from calibrant.report.chance import LEVEL, Change, chance_ece, mean_change
from calibrant.report.style import show_share
from calibrant.report.verdict import Verdict, judge

#: Rounds of a window.
WINDOW = 1000
#: Where one bin of ten holds a larger share of the rounds, bins of equal width show too little.
CROWDED = 0.5
#: A probability this close to 0 or 1 is taken to be that close and no closer: one that is certain
#: and wrong costs 35 nats then, and not all there are.
CERTAIN = 1e-15
#: Groups with fewer rounds are not singled out: their errors are mostly chance.
FEW_ROUNDS = 500
#: Groups that are measured by themselves, a millisecond each.
MOST_GROUPS = 1000


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
    reliability, reliability_by_mass : ReliabilityTable
        What was said and what happened, in ten bins of equal width and in ten of equal mass.
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
    reliability_by_mass: ReliabilityTable
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
        measures, distinct = card.summary(), card.distinct()
        reliability = reliability_table(distinct, 10, LEVEL)
        return cls(
            measures["brier"], measures["log_loss"], measures["cal1"], measures["cal2"],
            measures["ece"], smece_of(distinct), len(distinct), chance_ece(p), worst,
            math.nan if worst is None else chance_ece(p[worst.start : worst.stop]),
            reliability, reliability_table(distinct, 10, LEVEL, scheme="mass"),
            int((reliability.count > 0).sum()), int(reliability.off.sum()),
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
    change, log_change : Change or None
        Brier score and log loss, calibrated minus raw: negative is better. Both intervals together
        hold at 95 %. For the second, no probability is closer to 0 or 1 than 1e-15.
    groups : list of GroupMeasured
        Each group by itself, the largest first; of more than 1,000, the largest.

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
    log_change: Change | None
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
        largest = sorted(rows_of.items(), key=lambda item: len(item[1]), reverse=True)
        parts = [
            GroupMeasured(
                group,
                len(rows),
                None if before is None else Measured.from_predictions(before[rows], y[rows]),
                Measured.from_predictions(after[rows], y[rows]),
            )
            for group, rows in largest[:MOST_GROUPS]
        ]
        return cls(
            len(y),
            float(y.mean()),
            window,
            None if before is None else Measured.from_predictions(before, y, window=window),
            Measured.from_predictions(after, y, window=window),
            None if before is None else _change(squared, before, after, y),
            None if before is None else _change(surprise, before, after, y),
            parts,
        )

    @property
    def columns(self) -> dict[str, Measured]:
        """The columns that were measured, by name: "raw", if there is one, and "calibrated"."""
        after = {"calibrated": self.calibrated}
        return after if self.raw is None else {"raw": self.raw, **after}

    @property
    def verdict(self) -> Verdict:
        """Better, no different or worse, and by how much; without a cause."""
        return judge(self)

    @property
    def is_crowded(self) -> bool:
        """Whether most rounds share one bin of ten, before or after: rare events, for instance."""
        counts = [column.reliability.count.max() for column in self.columns.values()]
        return bool(max(counts) > CROWDED * self.rounds)

    @property
    def reliability(self) -> dict[str, ReliabilityTable]:
        """What was said and what happened, by column: in bins of equal mass where it is crowded."""
        return {
            name: column.reliability_by_mass if self.is_crowded else column.reliability
            for name, column in self.columns.items()
        }

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
        said = [self.verdict.size]
        if before is not None:
            tables = self.reliability.values()
            was_off, is_off = [int(table.off.sum()) for table in tables]
            had, has = [int((table.count > 0).sum()) for table in tables]
            said.append(
                f"What was said was off what happened by {show_share(before.ece)} in the mean "
                f"(ECE) and is off by {show_share(after.ece)} now; chance alone would leave "
                f"{show_share(after.chance)}. "
                f"{was_off} of {had} bins disagreed with their 95 % interval; "
                f"now {is_off} of {has} do."
            )
            if before.worst is not None:
                worst = before.worst
                said.append(
                    f"In the scores' worst {self.window:,} rounds, from {place(worst.start)}, they "
                    f"were off by {show_share(worst.ece)}: {_said_and_happened(worst)}"
                )
        if after.worst is not None:
            worst = after.worst
            said.append(
                f"In their worst {self.window:,} rounds, from {place(worst.start)}, the calibrated "
                f"probabilities are off by {show_share(worst.ece)}, of which chance alone explains "
                f"about {show_share(after.worst_chance)}: {_said_and_happened(worst)}"
            )
        large = [part for part in self.groups if part.rounds >= FEW_ROUNDS]
        if len(large) > 1:
            furthest = max(large, key=attrgetter("calibrated.ece"))
            was = "" if furthest.raw is None else f"; before it was {show_share(furthest.raw.ece)}"
            said.append(
                f"Of the {len(large)} groups with {FEW_ROUNDS} rounds or more, {furthest.group} is "
                f"furthest off: {show_share(furthest.calibrated.ece)} in the mean over "
                f"{furthest.rounds:,} rounds{was}."
            )
        if never:
            said.append(
                f"{never:,} {'outcome' if never == 1 else 'outcomes'} never arrived: those rows "
                "have a probability, but nothing was learned from them."
            )
        return said


def _said_and_happened(window: WindowMeasures) -> str:
    said, happened = show_share(window.mean_prediction, 2), show_share(window.mean_outcome, 2)
    return f"{said} was said in the mean, {happened} happened."


def squared(p: Floats, y: Floats) -> Floats:
    """Return the squared error of each round."""
    return (p - y) ** 2


def surprise(p: Floats, y: Floats) -> Floats:
    """Return the log loss of each round, finite also where the certain did not happen."""
    near = np.clip(p, CERTAIN, 1.0 - CERTAIN)
    return -(y * np.log(near) + (1.0 - y) * np.log1p(-near))


def _change(
    loss: Callable[[Floats, Floats], Floats], before: Floats, after: Floats, y: Floats
) -> Change:
    """Return how a loss changed; the level is such that two losses together have `LEVEL`."""
    return mean_change(loss(after, y) - loss(before, y), level=(1.0 + LEVEL) / 2.0)
