"""Counts of a stream that need no arrays: totals, delays, and what each group said and met."""

from __future__ import annotations

import json
from bisect import bisect
from typing import Any

import numpy as np

from calibrant.rounds import Settled
from calibrant.service.stream.gaps import Gaps

#: Delays are counted in bins whose edges grow by this factor, from a thousandth of a second to 30
#: years.
FACTOR, SHORTEST = 2.0**0.25, 1e-3
EDGES = [SHORTEST * FACTOR**step for step in range(160)]
#: So many rows are counted faster in arrays.
MANY = 16
#: The fields of a group: predictions, settled, sums of said, happened, and said * (1 - said).
GROUP = 5


class Tallies:
    """Counts that grow row by row, in the order of the log."""

    __slots__ = ("delay_bins", "delay_total", "gaps", "groups", "last_outcome", "last_prediction",
                 "outcomes", "predictions", "range", "settled")  # fmt: skip

    def __init__(self) -> None:
        self.predictions = self.outcomes = self.settled = 0
        self.last_prediction: float | None = None
        self.last_outcome: float | None = None
        #: The least and the greatest score.
        self.range: list[float] = []
        #: Milliseconds in all, and how many delays fell into each bin.
        self.delay_total = 0
        self.delay_bins = [0] * (len(EDGES) + 1)
        self.groups: dict[str, list[float]] = {}
        self.gaps = Gaps()

    def predicted(self, scores: list[float], by: list[str | None] | None, at: float) -> None:
        """Count predictions."""
        self.predictions += len(scores)
        self.last_prediction = at
        self.gaps.predicted(at)
        low, high = min(scores), max(scores)
        self.range = [min(low, *self.range[:1]), max(high, *self.range[1:])] if self.range else [
            low, high]  # fmt: skip
        for name in by or ():
            if name is not None:
                self.groups.setdefault(name, [0.0] * GROUP)[0] += 1

    def know(self, group: str) -> None:
        """Take over the name of a group that was there before the first row."""
        self.groups[group] = [0.0] * GROUP

    def heard(self, delays: list[float], at: float) -> None:
        """Count outcomes that came, each so many seconds after its prediction."""
        self.outcomes += len(delays)
        self.gaps.heard(at, self.last_outcome)
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

    def measured(self, rows: Settled, by: list[Any] | None) -> None:
        """Count what was settled, of each group by itself too."""
        self.settled += len(rows)
        if by is None:
            return
        columns = zip(by, rows.expected.tolist(), rows.outcome.tolist(), strict=True)
        for name, expected, outcome in columns:
            if name is not None:
                group = self.groups[name]
                group[1] += 1
                group[2] += expected
                group[3] += outcome
                group[4] += expected * (1.0 - expected)

    @property
    def silent_since(self) -> float | None:
        """The first prediction after which outcomes fell silent; None if they come."""
        return self.gaps.since if self.gaps.is_silent(self.last_prediction) else None

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
        state = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(state | {"gaps": self.gaps.as_list()}).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Tallies:
        """Return what `to_bytes` saved."""
        state: dict[str, Any] = json.loads(blob)
        tallies = cls()
        for name in cls.__slots__:
            setattr(tallies, name, state[name])
        tallies.gaps = Gaps(*state["gaps"])
        return tallies
