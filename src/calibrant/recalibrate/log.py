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
    recalibrator, and the next log goes on from there; `answers` counts, once it is finished, what
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
        smooth: bool = False,
    ) -> None:
        self.recalibrator, self.outcome, self.smooth = recalibrator, outcome, smooth
        self.take = partial(
            take_scored, score=score, kind=recalibrator.kind, time=time, available=available,
            due=due, positive=positive,
        )  # fmt: skip
        self.answers: Counter[str] = Counter()
        self.time = -np.inf  # of the last row

    def play(self, table: Table) -> Played:
        """Predict the rows of a table, and learn what becomes known in between."""
        rows = self.take(table, outcome=self.outcome)
        self.outcome = rows.outcome_column
        self.time = time_after(rows, self.time)
        book = self.recalibrator._book
        book.collect()
        try:
            said = recalibrate_rows(self.recalibrator, rows, smooth=self.smooth)
            settled = book.take_settled()
        finally:
            book.stop_collecting()
        judged = Judged(settled.raw, settled.prediction, settled.outcome)
        if said.outcomes is rows.outcomes:  # each was learned at once, without a round that waits
            judged = judged_at_once(rows, said.predictions, self.recalibrator.kind)
        return Played(said.predictions, rows, judged, said.smooth)

    def finish(self) -> tuple[int, Judged]:
        """Return how many outcomes become known only after the last row, and rows that still wait.

        The latter have an outcome that counts once their deadline, or their time, has come; the
        recalibrator has not learned it.
        """
        book = self.recalibrator._book
        self.answers += book.late
        return len(book.arrivals), still_open([book])


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


def still_open(books: Iterable[Book]) -> Judged:
    """Return the rows that wait and have an outcome that will count, though it is not learned."""
    found = []
    for book in books:
        coming = {key: (time, outcome) for key, time, outcome in book.coming()}
        for key, each in book.waiting():
            time, outcome = coming.get(key, (-np.inf, each.outcome))
            is_too_late = book.policy.silence is not None and time > each.due
            if not np.isnan(outcome) and not is_too_late:
                found.append((each.raw, each.prediction, outcome))
    return Judged(*np.array(found, dtype=np.float64).reshape(-1, 3).T)
