"""Tables one after the other, as if they were one: what is settled is measured, no row is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels.rounds.book import Book
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables.scored import Scored, as_probabilities, take_scored
from calibrant.tables.table import Table


class Judged(NamedTuple):
    """Rows whose outcomes count by now: raw scores as probabilities, predictions, outcomes.

    Margins are no probabilities: what stands for them means nothing.
    """

    raw: Floats
    predictions: Floats
    outcomes: Floats


class Played(NamedTuple):
    """The prediction of each row of a table, what was read, and what was settled meanwhile.

    `smooth` is the estimate for ranking, None unless it was asked for.
    """

    predictions: Floats
    rows: Scored
    judged: Judged
    smooth: Floats | None = None


class Log:
    """Play tables in their order through a recalibrator; a table may hold any number of rows.

    Rows are predicted as `recalibrate_rows` does. What is still to come at the end waits in the
    recalibrator, and the next log continues from there; `answers` counts, once it is finished, what
    became of outcomes that were known only after silence was learned.
    """

    def __init__(
        self,
        recalibrator: Recalibrator,
        *,
        score: str,
        outcome: str | None,
        time: str | None = None,
        available: str | None = None,
        due: str | None = None,
        positive: str | None = None,
        scale: str | None = None,
        smooth: bool = False,
    ) -> None:
        self.recalibrator, self.outcome, self.smooth = recalibrator, outcome, smooth
        self.take = partial(
            take_scored, score=score, kind=recalibrator.kind, time=time, available=available,
            due=due, positive=positive, scale=scale,
        )  # fmt: skip
        self.answers: Counter[str] = Counter()
        self.time = -np.inf  # of the last row
        self.young = Judged(np.empty(0), np.empty(0), np.empty(0)), np.empty(0)

    def play(self, table: Table) -> Played:
        """Predict the rows of a table, and learn what becomes known in between."""
        rows = self.take(table, outcome=self.outcome)
        self.outcome = rows.outcome_column
        self.time = time_after(rows, self.time)
        book = self.recalibrator._book
        book.collect()
        try:
            predicted = recalibrate_rows(self.recalibrator, rows, smooth=self.smooth)
            settled = book.take_settled()
        finally:
            book.stop_collecting()
        judged = self._mature(Judged(settled.raw, settled.prediction, settled.outcome), settled.due)
        if predicted.outcomes is rows.outcomes:  # each was learned at once, without a pending round
            judged = judged_at_once(rows, predicted.predictions, self.recalibrator.kind)
        return Played(predicted.predictions, rows, judged, predicted.smooth)

    def _mature(self, judged: Judged, dues: Floats) -> Judged:
        """Return the rows, also of before, whose deadline is over; the others are kept until it is.

        With silence, outcomes of the kind that is announced are learned before their deadlines; to
        measure them then would leave out the rest.
        """
        if not self.recalibrator._book.has_deadlines:
            return judged
        before, dues_before = self.young
        rows = Judged(*map(np.concatenate, zip(before, judged, strict=True)))
        dues = np.concatenate([dues_before, dues])
        is_timed = self.time > -np.inf
        is_young = dues >= self.time if is_timed else dues > self.recalibrator.rounds
        self.young = Judged(*(column[is_young] for column in rows)), dues[is_young]
        return Judged(*(column[~is_young] for column in rows))

    def finish(self) -> tuple[int, Judged]:
        """Return how many outcomes become known only after the last row, and rows that still wait.

        The latter have an outcome that counts once its time has come; the recalibrator has not
        learned it. Rows whose deadline is still to come are none of them.
        """
        book = self.recalibrator._book
        self.answers += book.late
        return len(book.arrivals), still_open([book], self.time)


def time_after(rows: Scored, before: float) -> float:
    """Return the time of the last row, or refuse a table that begins before the last one ended."""
    if rows.clock is None or not len(rows.scores):
        return before
    if rows.clock.ticks[0] < before:
        raise rows.clock.cells.refusal(0, "the time is before that of the row above")
    return float(rows.clock.ticks[-1])


def judged_at_once(rows: Scored, predictions: Floats, kind: str) -> Judged:
    """Return the rows with an outcome, each of which was learned before the next row."""
    has = ~np.isnan(rows.outcomes)
    raw = as_probabilities(rows.scores[has], kind)
    if raw is None:
        raw = np.full(len(predictions[has]), np.nan)
    return Judged(raw, predictions[has], rows.outcomes[has])


def still_open(books: Iterable[Book], time: float) -> Judged:
    """Return the rows with an outcome that is not learned yet; none with a deadline after `time`.

    Of rows whose deadline is to come, what is known so early is mostly of one kind.
    """
    found = []
    for book in books:
        coming = {key: outcome for key, _, outcome in book.coming()}
        for key, each in book.waiting():
            outcome = coming.get(key, each.outcome)
            is_young = book.has_deadlines and not each.due < time
            if not np.isnan(outcome) and not is_young:
                found.append((each.raw, each.prediction, outcome))
    return Judged(*np.array(found, dtype=np.float64).reshape(-1, 3).T)
