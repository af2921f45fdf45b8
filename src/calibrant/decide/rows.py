"""Rows of a table: each is decided from the outcomes that were known by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Floats
from calibrant.decide.decider import Booleans, Decider

if TYPE_CHECKING:
    from calibrant.tables import Scored


def decide_rows(decider: Decider, probabilities: Floats, rows: Scored) -> Booleans:
    """Return of each row whether to act on it, given the probabilities that were made of it."""
    clock, available, due = rows.clock, rows.available, rows.due
    at = None if clock is None else clock.ticks
    beside = decider._beside(at, None, len(probabilities))
    told, _ = decider._play_table(
        probabilities if beside is None else np.column_stack([probabilities, beside]),
        rows.outcomes, at=at, known=None if available is None else available.ticks,
        due=None if due is None or not decider._book.has_deadlines else due.ticks,
        is_dated=clock is not None and clock.sort != "numbers",
    )  # fmt: skip
    return np.asarray(told[0] > 0.5)
