"""Whether outcomes of one kind become known later than those of the other, or less often.

If they do, the outcomes known at any time are a biased sample: if frauds are reported after a week,
and payments count as clean after a month, the last three weeks seem to hold nothing but fraud.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_same_length
from calibrant._spans import UNITS, round_up, show_span

#: How many consecutive rows are compared, and bins of similar scores.
ALIKE, BINS = 5, 20
#: The least number of outcomes of either kind.
FEW = 50
#: Standard errors beyond which chance is ruled out (one run in a thousand), and the least share of
#: pairs, beyond half, that is reported.
CHANCE, WORTH = 3.29, 0.02
#: The span covers the delay of this share of the slower kind.
NEARLY_ALL = 0.99


@dataclass(frozen=True)
class DelayCheck:
    """Whether delays, or outcomes that never come, depend on the outcome.

    A rank test. Rows are compared only with rows of nearly the same time and score, so that rates
    and delays may drift, depend on the score, or be cut off by the end of the data: none of this
    alone makes delays depend on the outcome. A delay is the number of predictions made meanwhile;
    an outcome that never became known ranks after all that did.

    Attributes
    ----------
    z : float
        The distance from independence in standard errors; under permutations within the rows
        compared it has mean 0 and variance 1.
    later : float
        Among the compared pairs of a 1 and a 0, the share in which the 1 came later; equal delays
        count half.
    beyond : float
        The excess of that share over one half, without the part that the scores explain.
    median : tuple of float
        The median delay of zeros and of ones that became known, by the clock of the rows.
    never : tuple of float
        The share of zeros and of ones that never became known.
    span : float
        The time after which nearly all outcomes of the slower kind are known.
    is_time : bool
        Whether delays are seconds; otherwise they are in the clock's own unit.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import DelayCheck
    >>> days = np.arange(2000) * 86400.0 / 50
    >>> fraud = np.random.default_rng(0).random(2000) < 0.1
    >>> check = DelayCheck.from_times(fraud, days, days + np.where(fraud, 7, 30) * 86400.0)
    >>> print(check.sentence())
    Outcomes of 1 become known earlier than outcomes of 0 (after 7d and 30d in the median; earlier \
in 100% of comparable pairs), so the outcomes known at any time are a biased sample. Use \
hold="30d" (--hold 30d) to learn every outcome at the same age; or, if no outcome by a deadline \
means 0, silence=0 (--silence 0 --after SPAN, or --due COL), which learns earlier.
    """

    z: float
    later: float
    beyond: float
    median: tuple[float, float]
    never: tuple[float, float]
    span: float
    is_time: bool

    @classmethod
    def from_times(
        cls,
        outcomes: npt.ArrayLike,
        made_at: npt.ArrayLike,
        known_at: npt.ArrayLike,
        *,
        scores: npt.ArrayLike | None = None,
        is_time: bool = True,
    ) -> DelayCheck | None:
        """Compare the delays of zeros and ones; None if there are too few of either.

        Parameters
        ----------
        outcomes : array_like
            The observed outcomes; NaN if still unknown, and such rows are left out.
        made_at : array_like
            When each row was predicted, in order, as numbers or seconds.
        known_at : array_like
            When its outcome became known; NaN for never.
        scores : array_like, optional
            The rows' scores, so that rows with similar scores are compared.
        is_time : bool
            Whether times are in seconds; otherwise they are in some other unit.
        """
        y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
        made = np.asarray(as_series(made_at, "made_at"), dtype=np.float64)
        known = np.asarray(as_series(known_at, "known_at"), dtype=np.float64)
        check_same_length("made_at", len(made), "outcomes", len(y))
        check_same_length("known_at", len(known), "outcomes", len(y))
        given = None if scores is None else np.asarray(as_series(scores, "scores"), float)
        if given is not None:
            check_same_length("scores", len(given), "outcomes", len(y))
        binary = (y == 0.0) | (y == 1.0)
        late = rounds_later(made, known)
        y, late, delay = y[binary], late[binary], (known - made)[binary]
        came = ~np.isnan(delay)
        if min((y == 0.0).sum(), (y == 1.0).sum()) < FEW or not came.any():
            return None
        z, later, beyond = compare_ranks(y, late, None if given is None else given[binary])
        kinds = [delay[(y == kind) & came] for kind in (0.0, 1.0)]
        median = [float(np.median(kind)) if len(kind) else math.inf for kind in kinds]
        never = [float(1.0 - came[y == kind].mean()) for kind in (0.0, 1.0)]
        spans = [float(np.quantile(kind, NEARLY_ALL)) for kind in kinds if len(kind)]
        return cls(
            z, later, beyond, (median[0], median[1]), (never[0], never[1]), max(spans), is_time
        )  # fmt: skip

    @property
    def depends(self) -> bool:
        """Whether delays depend on the outcome beyond chance, and enough to matter."""
        return abs(self.z) > CHANCE and abs(self.beyond) > WORTH

    @property
    def slower(self) -> int:
        """The outcome that becomes known later, or less often."""
        return int(self.beyond > 0.0)

    @property
    def cure(self) -> dict[str, str | float]:
        """The arguments of a Recalibrator, or command-line options, that correct for it."""
        slower = self.slower
        wait = self._shown(round_up(self.span / self._unit) * self._unit)
        if self.never[slower] > self.never[1 - slower] + WORTH and self.never[slower] > 0.5:
            return {"silence": slower, "after": wait}
        return {"hold": wait}

    def sentence(self) -> str:
        """Return a sentence with the figures and the remedy."""
        slower, faster = self.slower, 1 - self.slower
        share = 100.0 * (self.later if slower else 1.0 - self.later)
        times = [
            "never" if math.isinf(self.median[kind]) else f"after {self._shown(self.median[kind])}"
            for kind in (faster, slower)
        ]
        figures = f"{times[0]} and {times[1].removeprefix('after ')} in the median"
        if max(self.never) > 0.0:
            figures += (
                f"; never in {100.0 * self.never[faster]:.0f}% and "
                f"{100.0 * self.never[slower]:.0f}%"
            )
        return (
            f"Outcomes of {faster} become known earlier than outcomes of {slower} ({figures}; "
            f"earlier in {share:.0f}% of comparable pairs), so the outcomes known at any time are "
            f"a biased sample. {self._cure_in_words()}."
        )

    def _cure_in_words(self) -> str:
        cure = {
            name: value if isinstance(value, str) else f"{value:g}"
            for name, value in self.cure.items()
        }
        quote = '"' if self.is_time else ""
        arguments = ", ".join(
            f"{name}={value}" if name == "silence" else f"{name}={quote}{value}{quote}"
            for name, value in cure.items()
        )
        options = " ".join(f"--{name} {value}" for name, value in cure.items())
        named = f"{arguments} ({options})"
        if "silence" in self.cure:
            return f"Use {named}, so that no outcome by then means {self.slower}"
        return (
            f"Use {named} to learn every outcome at the same age; or, if no outcome by a deadline "
            f"means {self.slower}, silence={self.slower} (--silence {self.slower} --after SPAN, or "
            "--due COL), which learns earlier"
        )

    @property
    def _unit(self) -> float:
        """The unit in which the span is shown, so that it is rounded there."""
        if not self.is_time:
            return 1.0
        return next((size for size in list(UNITS.values())[1:] if self.span >= size), 1.0)

    def _shown(self, length: float) -> str | float:
        return show_span(length) if self.is_time else float(f"{length:.3g}")


def rounds_later(made: Floats, known: Floats) -> Floats:
    """Return how many predictions were made before each outcome became known; infinite for never.

    After the last prediction, they are assumed to continue at their mean rate.
    """
    rows = np.arange(len(made))
    ends = np.where(np.isnan(known), np.inf, known)
    later: Floats = np.searchsorted(made, ends, side="left") - rows - np.float64(1.0)
    if len(made) and made[-1] > made[0]:
        rate = (len(made) - 1) / (made[-1] - made[0])
        later += np.floor(np.maximum(ends - made[-1], 0.0) * rate)
    later[np.isnan(known)] = np.inf
    return later


def compare_ranks(y: Floats, late: Floats, scores: Floats | None) -> tuple[float, float, float]:
    """Return z, the share of pairs in which the 1 came later, and its excess beyond the scores.

    With r the centred ranks of the delays in one set of rows, sum y r is the number of pairs in
    which the 1 came later, minus half of all pairs of a 1 and a 0. S is this number after removing
    what the scores explain of y among neighbours: within a set they explain less than over all
    rows, where they also reflect a persistent state, and subtracting all of it would make delays
    that depend on the score appear to depend on the outcome. If delays do not depend on the
    outcome,
    the S of each set has mean 0, and their sum divided by the root of the sum of their squares is
    nearly normal.
    """
    sets = len(y) // ALIKE
    e = np.zeros(len(y)) if scores is None else explained(y, scores)
    y, e, late = (part[: sets * ALIKE].reshape(sets, ALIKE) for part in (y, e, late))
    r = 0.5 * (
        (late[:, :, None] > late[:, None, :]).sum(axis=2, dtype=np.float64)
        - (late[:, :, None] < late[:, None, :]).sum(axis=2)
    )
    within = e - e.mean(axis=1, keepdims=True)
    weight = float((within * y).sum()) / max(float((within**2).sum()), 1e-12)
    S = ((y - weight * e) * r).sum(axis=1)
    ones = y.sum(axis=1)
    pairs, size = float((ones * (ALIKE - ones)).sum()), math.sqrt(float((S**2).sum()))
    if size == 0.0 or pairs == 0.0:
        return 0.0, 0.5, 0.0
    total = float(S.sum())
    return total / size, 0.5 + float((y * r).sum()) / pairs, total / pairs


def explained(y: Floats, scores: Floats) -> Floats:
    """Return the mean outcome of rows with similar scores."""
    order = np.argsort(scores, kind="stable")
    means = np.empty(len(y))
    for rows in np.array_split(order, min(BINS, len(y))):
        means[rows] = y[rows].mean()
    return means
