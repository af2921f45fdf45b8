"""Checks of a live stream: those of `calibrant.checks` that apply to a stream.

They use a sample of the stream's rows, which is part of its state, and counts of the answers since
the service started, which are not in the log. The findings are those of `calibrant.checks`; the
remedies are in terms of a stream.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant._bytes import Saved, pack, unpack
from calibrant._kernels.rounds.settled import Steps
from calibrant.checks import Columns, Finding, outcomes, scores

if TYPE_CHECKING:
    from calibrant.service.stream.stream import Stream

#: Rows of a sample, and the least number of settled rows to check.
MOST, LEAST = 2048, 20
#: The least answers of a kind that are worth a warning, and their share of all.
FEW, SHARE = 20, 0.01
#: The remedies of findings.
CURES = {
    "one_sided": "If no report means the other kind, create a stream with silence and after; "
    "otherwise this one cannot be calibrated.",
    "lopsided": "If no report means the other kind, create a stream with silence and after; "
    "otherwise find out why outcomes are missing.",
    "leak.copy": "Send the score that was known before the outcome.",
    "leak.auc": "Make sure that they were made before the outcomes were known.",
    "inverted": "Check which outcome is reported as 1, and whether the score is that of the other "
    "class.",
}


class RowSample:
    """What is known of settled rows: counts of all, and some of them, spread over the stream.

    Of each row that is kept it has its number, its score as a probability (NaN for margins) and its
    outcome. It makes no difference how many rows arrive at a time.

    Examples
    --------
    >>> sample = RowSample()
    >>> sample.findings(has_silence=False)
    []
    """

    __slots__ = ("counts", "rows", "stride")

    def __init__(self) -> None:
        self.rows, self.stride = np.empty((0, 3)), 1
        #: Settled rows, ones, zeros, those with a score; the first and the last number.
        self.counts = np.array([0, 0, 0, 0, -1, -1], dtype=np.int64)

    def take(self, steps: Steps) -> None:
        """Take in predictions and outcomes, in the order in which they came."""
        numbers, came = np.asarray(steps.numbers), steps.outcome
        if not len(numbers):
            return
        if self.counts[4] < 0:
            self.counts[4] = numbers[0]
        is_known = ~np.isnan(came)
        if not is_known.any():
            return
        known, y, raw = numbers[is_known], came[is_known], steps.raw[is_known]
        self.counts[:4] += len(y), (y == 1.0).sum(), (y == 0.0).sum(), (~np.isnan(raw)).sum()
        self.counts[5] = max(self.counts[5], known.max())
        is_kept = known % self.stride == 0
        self.rows = np.concatenate([self.rows, np.column_stack([known, raw, y])[is_kept]])
        while len(self.rows) > MOST:
            self.stride *= 2
            self.rows = self.rows[self.rows[:, 0] % self.stride == 0]

    def findings(self, *, has_silence: bool) -> list[Finding]:
        """Return what the checks find in the rows."""
        if self.counts[0] < LEAST:
            return []
        columns = Columns(self.rows[:, 2], self.rows[:, 1] if self.counts[3] else None)
        found = [scores.leak(columns), scores.inverted(columns)]
        if not has_silence:
            found.append(self._kinds())
        return [
            replace(each, severity="warn", cure=CURES[each.check])
            for each in found if each is not None and each.is_open
        ]  # fmt: skip

    def _kinds(self) -> Finding | None:
        """Return whether outcomes of one kind are reported more often than the other."""
        known, ones, zeros, scored, first, last = self.counts.tolist()
        gaps = last - first + 1 - known
        score = 0.5 if not scored else float(np.nanmean(self.rows[:, 1]))
        score = min(max(score, 1e-6), 1.0 - 1e-6)
        if known in (ones, zeros):
            return outcomes.only_kind(int(known == ones), known, gaps, gaps, score)
        if ones + zeros < known or known < outcomes.FEW or not scored:
            return None
        return outcomes.out_of_proportion(ones / known, score, known, gaps / (known + gaps))

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        state = {"rows": self.rows.ravel(), "counts": self.counts}
        return pack(Saved("RowSample", {}, self.stride, state))

    @classmethod
    def from_bytes(cls, blob: bytes) -> RowSample:
        """Return what `to_bytes` saved."""
        sample, saved = cls(), unpack(blob, what="sample of rows")
        sample.rows, sample.counts = saved.state["rows"].reshape(-1, 3), saved.state["counts"]
        sample.stride = saved.rounds
        return sample


def doubts(stream: Stream) -> list[Finding]:
    """Return the checks that warn of a stream, apart from its monitors."""
    has_silence = stream.definition.silence is not None
    found = stream.engine.measures.findings(has_silence=has_silence)
    asked, conflicts, late = stream.asked, stream.conflicts, stream.too_late
    capacity = stream.definition.capacity
    if conflicts >= max(FEW, SHARE * asked):
        seen = (
            f"{conflicts:,} of {asked:,} predictions asked for came with an id that was predicted "
            "before with another score: ids recur."
        )
        cure = (
            "Such a row is answered with the old prediction, and nothing is learned of it. Give "
            "every prediction an id of its own, such as customer and month."
        )
        found.append(Finding("ids", "warn", seen, cure))
    if late >= max(FEW, SHARE * stream.engine.tallies.outcomes):
        seen = (
            f"{late:,} outcomes arrived for predictions that had expired: more predictions were "
            f"pending at the same time than the capacity of {capacity:,}."
        )
        found.append(Finding("capacity", "warn", seen, "PATCH a larger capacity."))
    return found
