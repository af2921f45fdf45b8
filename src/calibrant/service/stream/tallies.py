"""Scalar counts of a stream: totals, delays, groups, and whether outcomes have stopped."""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels.rounds.settled import Settled

#: Delays are counted in bins whose edges grow by this factor, from a thousandth of a second to 30
#: years.
FACTOR, SHORTEST = 2.0**0.25, 1e-3
EDGES = [SHORTEST * FACTOR**step for step in range(160)]
#: So many rows are counted faster in arrays.
MANY = 16
#: The fields of a group: predictions, settled, and sums of predictions, of outcomes
#: and of variances.
GROUP = 5
#: Outcomes have stopped when predictions continue without one for this long at least, and for so
#: many times the usual gap.
SHORTEST_SILENCE, TIMES = 3600.0, 5.0
#: Gaps that must be known, and the longest that counts: a history that is followed by rows of
#: today has one of years.
ENOUGH, LONGEST = 10, 30 * 86_400.0
#: Seconds after which a gap counts for a third (e**-1) of what it did.
MEMORY = 14 * 86_400.0


class Tallies:
    """Counts that grow row by row, in the order of the log.

    Whether outcomes have stopped depends only on the times of the rows, so a replay of the log
    gives the same result. The usual gap between outcomes is the mean of the gaps weighted by their
    lengths, which is the expected gap at a random moment. So nights without outcomes have their
    weight, however many outcomes arrive by day.

    Examples
    --------
    >>> tallies = Tallies()
    >>> for minute in range(20):
    ...     tallies.predicted([0.5], None, 60.0 * minute)
    ...     tallies.observed([0.0], 60.0 * minute)
    >>> tallies.predicted([0.5], None, 1200.0)
    >>> tallies.longest_gap, tallies.silent_since
    (3600.0, None)
    >>> tallies.predicted([0.5], None, 4801.0)
    >>> tallies.silent_since
    1200.0
    """

    __slots__ = (
        "changes",
        "delay_bins",
        "delay_total",
        "gaps",
        "groups",
        "last_outcome",
        "last_prediction",
        "outcomes",
        "predictions",
        "range",
        "settled",
        "unanswered_since",
    )  # fmt: skip

    def __init__(self) -> None:
        self.predictions = self.outcomes = self.settled = 0
        #: How often an episode, or that of a key, has begun or ended.
        self.changes = 0
        self.last_prediction: float | None = None
        self.last_outcome: float | None = None
        #: The least and the greatest score.
        self.range: list[float] = []
        #: Milliseconds in all, and how many delays fell into each bin.
        self.delay_total = 0
        self.delay_bins = [0] * (len(EDGES) + 1)
        self.groups: dict[str, list[float]] = {}
        #: Of the gaps between outcomes: how many, their sum and that of their squares, faded.
        self.gaps: tuple[int, float, float] = (0, 0.0, 0.0)
        #: The first prediction after the last outcome.
        self.unanswered_since: float | None = None

    def predicted(
        self, scores: Sequence[float | None], by: list[str | None] | None, at: float
    ) -> None:
        """Count predictions."""
        self.predictions += len(scores)
        self.last_prediction = at
        if self.unanswered_since is None:
            self.unanswered_since = at
        known = self.range + [each for each in scores if each is not None]
        if known:
            self.range = [min(known), max(known)]
        for name in by or ():
            if name is not None:
                self.groups.setdefault(name, [0.0] * GROUP)[0] += 1

    def add_group(self, name: str) -> None:
        """Add a group that was there before the first row."""
        self.groups[name] = [0.0] * GROUP

    def observed(self, delays: list[float], at: float) -> None:
        """Count outcomes, each of which came so many seconds after its prediction."""
        self.outcomes += len(delays)
        self.unanswered_since = None
        if self.last_outcome is not None and at > self.last_outcome:
            gap, (count, length, squares) = min(at - self.last_outcome, LONGEST), self.gaps
            kept = MEMORY / (MEMORY + gap)
            self.gaps = (count + 1, kept * length + gap, kept * squares + gap * gap)
        self.last_outcome = at
        if len(delays) < MANY:
            for delay in delays:
                self.delay_bins[bisect(EDGES, delay)] += 1
                self.delay_total += round(delay * 1000.0) if delay > 0.0 else 0
            return
        column = np.array(delays)
        bins, counts = np.unique(np.searchsorted(EDGES, column, side="right"), return_counts=True)
        for bin_, count in zip(bins.tolist(), counts.tolist(), strict=True):
            self.delay_bins[bin_] += count
        self.delay_total += int(np.rint(np.maximum(column, 0.0) * 1000.0).astype(np.int64).sum())

    def measured(self, rows: Settled, by: list[Any] | None, spread: Floats) -> None:
        """Count what was settled, by group too; `spread` is the variance that each row adds."""
        self.settled += len(rows)
        if by is None:
            return
        columns = zip(
            by, rows.expected.tolist(), rows.outcome.tolist(), spread.tolist(), strict=True
        )
        for name, expected, outcome, variance in columns:
            if name is not None:
                group = self.groups[name]
                group[1] += 1
                group[2] += expected
                group[3] += outcome
                group[4] += variance

    @property
    def longest_gap(self) -> float | None:
        """The longest gap between outcomes that is nothing unusual; None if too little is known."""
        count, length, squares = self.gaps
        return None if count < ENOUGH else max(SHORTEST_SILENCE, TIMES * squares / length)

    @property
    def silent_since(self) -> float | None:
        """The first prediction after which outcomes stopped; None while they come."""
        since, last = self.unanswered_since, self.last_prediction
        if since is None or last is None or last - since <= SHORTEST_SILENCE:
            return None
        longest = self.longest_gap
        return None if longest is None or last - since <= longest else since

    def delay_quantile(self, share: float) -> float | None:
        """Return a delay that this share of the outcomes had at most, to a factor of 1.2."""
        reached, wanted = 0, share * sum(self.delay_bins)
        for bin_, count in enumerate(self.delay_bins):
            reached += count
            if count and reached >= wanted:
                return float(SHORTEST * FACTOR ** (bin_ - 0.5))
        return None

    def to_bytes(self) -> bytes:
        """Return everything as bytes; JSON keeps every digit."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Tallies:
        """Return what `to_bytes` saved."""
        state: dict[str, Any] = json.loads(blob)
        tallies = cls()
        for name in cls.__slots__:
            setattr(tallies, name, state[name])
        tallies.gaps = tuple(state["gaps"])
        return tallies
