"""The input of a check, what it finds, and a sample of rows that are too many to keep."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats

Severity: TypeAlias = Literal["refuse", "warn", "note"]
#: Rows that stay together in a sample, and how many blocks of them are kept at most.
BLOCK, MOST_BLOCKS = 1024, 256
#: Bins of similar scores.
BINS = 20


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    check : str
        The name of the check, such as "order.sorted"; `allow` takes it, or its part before the dot.
    severity : {"refuse", "warn", "note"}
        "refuse": rows are refused unless the check is allowed; "warn": they are used with a
        warning, and the verdict is never "better"; "note": a remark.
    seen : str
        What was found, in a sentence.
    cure : str
        What to do about it.
    value : float
        The figure on which the finding is based.
    is_allowed : bool
        Whether the user allowed it, which makes it a note.

    Examples
    --------
    >>> from calibrant.checks import Finding
    >>> found = Finding("constant", "note", "Every score is 0.3.", "Only the base rate is left.")
    >>> found.message
    'Every score is 0.3. Only the base rate is left.'
    """

    check: str
    severity: Severity
    seen: str
    cure: str = ""
    value: float = math.nan
    is_allowed: bool = False

    @property
    def message(self) -> str:
        """What was found and what to do about it."""
        return f"{self.seen} {self.cure}".rstrip()

    @property
    def is_open(self) -> bool:
        """Whether it keeps the verdict from being "better"."""
        return self.severity != "note"

    def as_object(self) -> dict[str, str]:
        """Return the finding for JSON."""
        return {"check": self.check, "severity": self.severity, "message": self.message}

    def allowed(self) -> Finding:
        """Return the finding as a note, because the user allowed it."""
        cure = f"This was allowed ({self.check})."
        return replace(self, severity="note", cure=cure, is_allowed=self.is_open)


class Pairs(NamedTuple):
    """The scores and outcomes of the rows that have both, in order."""

    scores: Floats
    outcomes: Floats
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """The input of the checks: a user's rows, in their order.

    Attributes
    ----------
    outcomes : array of float
        0 or 1, or between them; NaN where none is known.
    scores : array of float or None
        The model's scores; NaN where one is missing. None without a model.
    made : array of float or None
        When each row was predicted.
    known : array of float or None
        When each outcome became known; NaN for never.
    due : array of float or None
        The deadline of each row, if silence means an outcome.
    kind : {"probability", "logit", "margin"}
        What the scores are.
    is_time : bool
        Whether times are in seconds; otherwise they are in an unknown unit.
    has_silence, has_hold : bool
        Whether a missing outcome has a meaning (`silence`), and whether outcomes are learned at a
        fixed age (`hold`).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks import Columns, check_columns
    >>> scores = np.random.default_rng(0).random(1000)
    >>> outcomes = np.sort(np.random.default_rng(1).random(1000) < scores) * 1.0
    >>> [found.check for found in check_columns(Columns(outcomes, scores))]
    ['order.sorted']
    """

    outcomes: Floats
    scores: Floats | None = None
    made: Floats | None = None
    known: Floats | None = None
    due: Floats | None = None
    kind: str = "probability"
    is_time: bool = True
    has_silence: bool = False
    has_hold: bool = False

    @cached_property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Which rows have an outcome."""
        return ~np.isnan(self.outcomes)

    @cached_property
    def pairs(self) -> Pairs:
        """Scores and outcomes of the rows that have both; without scores, all scores are 0."""
        has = self.is_known if self.scores is None else self.is_known & ~np.isnan(self.scores)
        scores = np.zeros(len(self.outcomes)) if self.scores is None else self.scores
        return Pairs(scores[has], self.outcomes[has], np.flatnonzero(has))

    @cached_property
    def rarer(self) -> int:
        """How many outcomes there are of the rarer kind; 0 if any lies between 0 and 1."""
        outcomes = self.pairs.outcomes
        ones = int((outcomes == 1.0).sum())
        zeros = int((outcomes == 0.0).sum())
        return min(ones, zeros) if ones + zeros == len(outcomes) else 0

    @cached_property
    def by_score(self) -> npt.NDArray[np.int64]:
        """The rows of `pairs`, by score."""
        return np.argsort(self.pairs.scores, kind="stable")

    @cached_property
    def rates(self) -> Floats:
        """The mean outcome of rows with similar scores, in `pairs`, shrunk to the overall mean."""
        scores, outcomes, _ = self.pairs
        rates = np.empty(len(outcomes))
        base, order = float(outcomes.mean()), self.by_score
        ordered = scores[order]
        # Equal scores share a bin: it ends only where the score changes.
        ends = ordered[np.arange(1, BINS) * len(order) // BINS]
        for rows in np.split(order, np.unique(np.searchsorted(ordered, ends))):
            if len(rows):
                rates[rows] = (outcomes[rows].sum() + 2.0 * base) / (len(rows) + 2.0)
        return rates

    @cached_property
    def auc(self) -> float:
        """How well scores tell ones from zeros: the share of such pairs in the right order."""
        scores, outcomes, _ = self.pairs
        return auc_of(scores, outcomes, self.by_score)


class Sample:
    """A sample of at most 262,144 rows of a stream of rows.

    Up to that many rows, all are kept. Of more, blocks of 1,024 consecutive rows are kept, evenly
    spread from the first row to the last. So the sample of a sorted file is sorted, neighbours
    stay neighbours, and outcomes that are missing at the end are missing at the end of the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.checks import Columns, Sample
    >>> sample = Sample()
    >>> for chunk in np.array_split(np.arange(1_000_000.0) % 2, 10):
    ...     sample.extend(Columns(chunk))
    >>> sample.rows, len(sample.columns.outcomes)
    (1000000, 250432)
    """

    def __init__(self) -> None:
        self.rows = 0
        self._like: Columns | None = None
        self._parts: tuple[str, ...] = ()
        self._blocks: list[Floats] = []  # each with a line a column
        self._last: Floats | None = None  # the block that is not full yet
        self._stride = 1

    def extend(self, columns: Columns) -> None:
        """Add rows, with the same columns as before."""
        if self._like is None:
            names = ("outcomes", "scores", "made", "known", "due")
            self._like = columns
            self._parts = tuple(name for name in names if getattr(columns, name) is not None)
        rows = np.stack([getattr(columns, name) for name in self._parts])
        if self._last is not None:
            rows = np.concatenate([self._last, rows], axis=1)
        whole = rows.shape[1] - rows.shape[1] % BLOCK
        first = (self.rows - (0 if self._last is None else self._last.shape[1])) // BLOCK
        for start in range(0, whole, BLOCK):
            if (first + start // BLOCK) % self._stride:
                continue
            self._blocks.append(rows[:, start : start + BLOCK].copy())
            if len(self._blocks) >= MOST_BLOCKS:
                del self._blocks[1::2]
                self._stride *= 2
        self._last = rows[:, whole:].copy()
        self.rows += len(columns.outcomes)

    @property
    def columns(self) -> Columns:
        """The rows that were kept."""
        if self._like is None or self._last is None:
            return Columns(np.empty(0))
        rows = np.concatenate([*self._blocks, self._last], axis=1)
        return replace(self._like, **dict(zip(self._parts, rows, strict=True)))


def auc_of(scores: Floats, outcomes: Floats, order: npt.NDArray[np.int64] | None = None) -> float:
    """Return the share of pairs of a 1 and a 0 whose 1 has the higher score; ties count half.

    Examples
    --------
    >>> import numpy as np
    >>> auc_of(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0.0, 1.0, 0.0, 1.0]))
    0.875
    """
    order = np.argsort(scores, kind="stable") if order is None else order
    ordered, y = scores[order], outcomes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0.0)
    ones = np.add.reduceat(y, starts)
    zeros = np.diff(starts, append=len(y)) - ones
    below = np.cumsum(zeros) - zeros
    return float((ones * (below + zeros / 2.0)).sum() / (ones.sum() * zeros.sum()))


def at_most(events: int, mean: float) -> float:
    """Return the probability that a Poisson number with this mean is at most `events`.

    Examples
    --------
    >>> round(at_most(1, 2.0), 3), round(at_most(900, 1000.0), 4)
    (0.406, 0.0008)
    """
    if mean > 300.0:
        return 0.5 * math.erfc((mean - events - 0.5) / math.sqrt(2.0 * mean))
    term = total = math.exp(-mean)
    for number in range(1, min(events, 2000) + 1):
        term *= mean / number
        total += term
    return min(1.0, total)
