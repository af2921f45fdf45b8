"""Rows of a table, or of a pipe: each is decided from the outcomes that were known by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.decide.decider import Booleans, Decider

if TYPE_CHECKING:
    from calibrant.tables import Scored


def decide_rows(decider: Decider, probabilities: Floats, rows: Scored) -> tuple[Booleans, Floats]:
    """Return of each row whether to act on it, given the probabilities that were made of it.

    Also the chance that each had of being acted on: below 1, a row that was acted on was explored.
    """
    clock, available, due = rows.clock, rows.available, rows.due
    at = None if clock is None else clock.ticks
    beside = decider._beside(at, None, len(probabilities))
    told, *_ = decider._play_table(
        probabilities if beside is None else np.column_stack([probabilities, beside]),
        rows.outcomes, at=at, known=None if available is None else available.ticks,
        due=None if due is None or not decider._book.has_deadlines else due.ticks,
        is_dated=clock is not None and clock.sort != "numbers",
    )  # fmt: skip
    return np.asarray(told[0] > 0.5), np.asarray(told[1])


class DecisionLog:
    """Decide the rows of tables in their order; a table may hold any number of rows.

    What a review needs is kept: 41 bytes a row.
    """

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self.rows = 0
        self.time = -np.inf  # of the last row
        self.decided: list[tuple[Floats, Booleans, Floats]] = []
        self.settled: list[Floats] = []  # numbers of rows, outcomes and deadlines

    def play(self, probabilities: Floats, rows: Scored) -> tuple[Booleans, Floats]:
        """Return what `decide_rows` does; it goes on from the table before."""
        book = self.decider._book
        book.collect()
        try:
            acts, chances = decide_rows(self.decider, probabilities, rows)
            settled = book.take_settled()
        finally:
            book.stop_collecting()
        numbers = [each.number for each in settled.rounds]
        self.settled.append(np.array([numbers, settled.outcome, settled.due]))
        self.decided.append((probabilities, acts, rows.scores))
        self.rows += len(acts)
        if rows.clock is not None and len(acts):
            self.time = float(rows.clock.ticks[-1])
        return acts, chances

    def finish(self) -> tuple[Floats, Booleans, Floats, Floats]:
        """Return the probabilities of all rows, what was decided, scores, and outcomes that count.

        An outcome is NaN where none is known, or the deadline is still to come after the last row.
        """
        book, outcomes = self.decider._book, np.full(self.rows, np.nan)
        coming = {key: outcome for key, _, outcome in book.coming()}
        waiting = [
            (each.number, coming.get(key, each.outcome), each.due) for key, each in book.waiting()
        ]
        for numbers, known, due in (*self.settled, np.array(waiting).reshape(-1, 3).T):
            is_young = due >= self.time if self.time > -np.inf else due > self.rows
            outcomes[numbers[~is_young].astype(np.intp)] = known[~is_young]
        probabilities, acts, scores = map(np.concatenate, zip(*self.decided, strict=True))
        return probabilities, acts, scores, outcomes


def check_row(decider: Decider, at: float | None) -> None:
    """Refuse the time of a row that cannot come next, before anything else changes."""
    beside = decider._beside(None if at is None else np.array([at]), None, 1)
    if beside is not None:
        decider._rule.check_one((0.0, float(beside[0])), None)


def decide_row(
    decider: Decider,
    probability: float,
    id_: Id | None,
    at: float | None = None,
    due: float | None = None,
) -> tuple[bool, float]:
    """Return whether to act on a row that was checked, and the chance that it had."""
    row = (probability, at) if decider._is_timed else probability
    made = decider._open_one(row, id_, None, at, due)
    return bool(decider._rule.answer(made)), float(decider._rule.propensities([made])[0])
