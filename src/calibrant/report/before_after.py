"""Before and after a recalibration: the measures, and sentences about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, check_integer, check_same_length
from calibrant.measures import Change, ReliabilityTable, Scorecard, WindowMeasures
from calibrant.measures.chance import LEVEL, Differences, chance_ece
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
#: Groups that are measured by themselves: the largest.
MOST_GROUPS = 1000
#: Cells that predictions are counted in where rows are too many to keep.
CELLS = 2**14


@dataclass(frozen=True)
class GroupMeasured:
    """One group before and after; `raw` is None if the scores are not probabilities.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0], groups=["a", "b"])
    >>> [(part.group, round(part.calibrated.brier, 2)) for part in both.groups]
    [('a', 0.16), ('b', 0.16)]
    """

    group: Hashable
    rounds: int
    raw: Scorecard | None
    calibrated: Scorecard


class BeforeAfter:
    """A model's scores and the recalibrated ones, on the rounds whose outcomes are known.

    Rounds can come some at a time. Memory grows with the distinct predictions and with the windows;
    on a grid of `cells`, with the windows alone.

    Parameters
    ----------
    window : int
        Rounds of a window.
    has_raw : bool
        Whether the scores are probabilities; otherwise there is no before.
    cells : int, optional
        As in `Scorecard`: for more rows than can be kept.

    Attributes
    ----------
    raw : Scorecard or None
        The measures of the scores themselves; None where they are no probabilities.
    calibrated : Scorecard
        The measures of what became of them.
    columns : dict of str to Scorecard
        The same by name: "raw", if there is one, and "calibrated".
    rounds : int
        Rounds with an outcome.
    has_groups : bool
        Whether rounds have groups.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0])
    >>> round(both.raw.brier, 2), round(both.calibrated.brier, 2)
    (0.41, 0.16)
    """

    def __init__(
        self, window: int = WINDOW, *, has_raw: bool = True, cells: int | None = None
    ) -> None:
        self.window = check_integer("window", window, 1)
        self.raw = Scorecard(window, cells=cells) if has_raw else None
        self.calibrated = Scorecard(window, cells=cells)
        after = {"calibrated": self.calibrated}
        self.columns = after if self.raw is None else {"raw": self.raw, **after}
        self.rounds, self.has_groups = 0, False
        self._differences = (Differences(), Differences())  # of squared and of log losses

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
        """Measure all rounds at once.

        Parameters
        ----------
        raw : array_like or None
            The scores as probabilities; None where they are none.
        calibrated, outcomes : array_like
            What was predicted from them, and what was observed, all in [0, 1].
        groups : sequence, optional
            The group of each round; of more than 1,000 groups, the largest are measured.
        window : int
            Rounds of a window.
        """
        both = cls(window, has_raw=raw is not None)
        after, y = as_rounds(calibrated, outcomes, mean=True)
        if groups is not None:
            check_same_length("groups", len(groups), "outcomes", len(y))
        both.extend(None if raw is None else as_rounds(raw, y)[0], after, y, groups)
        return both

    def extend(
        self,
        raw: Floats | None,
        calibrated: Floats,
        outcomes: Floats,
        groups: Sequence[Hashable] | None = None,
    ) -> None:
        """Measure more rounds; of more than 1,000 groups in one call, only the largest."""
        if groups is not None:
            self.has_groups = True
            sizes = Counter(groups)
            if len(sizes) > MOST_GROUPS:
                largest = {group for group, _ in sizes.most_common(MOST_GROUPS)}
                groups = [group if group in largest else None for group in groups]
        self.calibrated.extend(calibrated, outcomes, groups)
        self.rounds += len(outcomes)
        if self.raw is not None and raw is not None:
            self.raw.extend(raw, outcomes, groups)
            brier, log_loss = self._differences
            # A proper loss is linear in the outcome. So the change to be expected if `calibrated`
            # is right is that at outcomes equal to it.
            change = (calibrated - outcomes) ** 2 - (raw - outcomes) ** 2
            brier.extend(change, -((calibrated - raw) ** 2))
            log_loss.extend(*log_loss_changes(raw, calibrated, outcomes))

    @property
    def changes(self) -> tuple[Change, Change] | None:
        """Changes of Brier score and log loss, calibrated minus raw: negative is better.

        Both intervals together hold at 95%. For the second, no probability is closer to 0 or 1
        than 1e-15. None where there is no before.
        """
        if self.raw is None:
            return None
        # Two intervals of this level hold together at `LEVEL`.
        brier, log_loss = self._differences
        level = (1.0 + LEVEL) / 2.0
        return brier.change(level), log_loss.change(level)

    @property
    def groups(self) -> list[GroupMeasured]:
        """Each group by itself, the largest first."""
        before = {} if self.raw is None else self.raw.labels
        parts = [
            GroupMeasured(group, card.rounds, before.get(group), card)
            for group, card in self.calibrated.labels.items()
        ]
        return sorted(parts, key=attrgetter("rounds"), reverse=True)

    @property
    def verdict(self) -> Verdict:
        """Better, no different or worse, and by how much; without a cause."""
        return judge(self)

    @property
    def reliability(self) -> dict[str, ReliabilityTable]:
        """Predicted and observed, by column, in ten bins.

        They are of equal mass where most rounds would share one of equal width, before or after:
        with rare events, for instance.
        """
        tables = {name: card.reliability(10, LEVEL) for name, card in self.columns.items()}
        if max([table.count.max() for table in tables.values()]) <= CROWDED * self.rounds:
            return tables
        return {name: card.reliability(10, LEVEL, "mass") for name, card in self.columns.items()}

    def findings(
        self,
        *,
        verdict: Verdict | None = None,
        never: int = 0,
        place: Callable[[int], str] = lambda at: f"round {at + 1:,}",
    ) -> list[str]:
        """Return what to look at and what it means, in sentences, most important first.

        Parameters
        ----------
        verdict : Verdict, optional
            What comes first; the one without a cause, if not given.
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
        points = (verdict or self.verdict).sentences
        if before is not None:
            tables, table = self.reliability.values(), after.distinct()
            chance = chance_ece(table.prediction, table.count)
            was_off, is_off = [int(table.miscalibrated.sum()) for table in tables]
            had, has = [int((table.count > 0).sum()) for table in tables]
            points.append(
                f"The calibration error (ECE) was {show_share(before.ece)} and is now "
                f"{show_share(after.ece)}; chance alone would leave {show_share(chance)}. "
                f"{was_off} of {had} bins were outside their 95% interval; now {is_off} of {has} "
                "are."
            )
            if before.worst is not None:
                worst = before.worst
                points.append(
                    f"In the scores' worst {self.window:,} rounds, from {place(worst.start)}, "
                    f"the ECE was {show_share(worst.ece)}: {_means(worst)}"
                )
        if after.worst is not None:
            worst = after.worst
            chance = float(after.stretches().chance_ece[worst.start // self.window])
            points.append(
                f"In the worst {self.window:,} rounds of the calibrated probabilities, from "
                f"{place(worst.start)}, the ECE is {show_share(worst.ece)}, of which chance alone "
                f"explains about {show_share(chance)}: {_means(worst)}"
            )
        groups = self.groups if self.has_groups else []
        large = [part for part in groups if part.rounds >= FEW_ROUNDS]
        if len(large) > 1:
            furthest = max(large, key=attrgetter("calibrated.ece"))
            was = "" if furthest.raw is None else f"; it was {show_share(furthest.raw.ece)} before"
            points.append(
                f"Of the {len(large)} groups with {FEW_ROUNDS} rounds or more, {furthest.group} "
                f"has the largest ECE: {show_share(furthest.calibrated.ece)} over "
                f"{furthest.rounds:,} rounds{was}."
            )
        if never:
            points.append(
                f"{never:,} {'outcome' if never == 1 else 'outcomes'} never arrived: these rows "
                "have a probability, but nothing was learned from them."
            )
        return points


def log_losses(predictions: Floats, outcomes: Floats) -> Floats:
    """Return the log loss of each round, with probabilities clipped to [1e-15, 1 - 1e-15]."""
    near = np.clip(predictions, CERTAIN, 1.0 - CERTAIN)
    return np.asarray(-(outcomes * np.log(near) + (1.0 - outcomes) * np.log1p(-near)))


def log_loss_changes(before: Floats, after: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Return the change of each round's log loss, and the expected one if `after` is right."""
    first, second = [np.clip(p, CERTAIN, 1.0 - CERTAIN) for p in (before, after)]
    of_one, of_zero = np.log(first / second), np.log1p(-first) - np.log1p(-second)
    return of_zero + outcomes * (of_one - of_zero), of_zero + after * (of_one - of_zero)


def _means(window: WindowMeasures) -> str:
    predicted, observed = (
        show_share(mean, 2) for mean in (window.mean_prediction, window.mean_outcome)
    )
    return f"{predicted} was predicted on average, {observed} observed."
