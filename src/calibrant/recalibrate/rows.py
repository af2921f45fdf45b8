"""Rows with times of arrival: each is predicted from the outcomes that had arrived by then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.recalibrate.recalibrator import Recalibrator

if TYPE_CHECKING:
    from calibrant.tables import Scored


class Recalibrated(NamedTuple):
    """What was predicted of each row before its outcome was known, and the outcome that counted.

    `expected` is the mean of what might have been predicted, which a monitor watches; `smooth` the
    estimate for ranking, None unless it was asked for. `outcomes` are those that were settled, NaN
    where none was; of rows that still wait, what is known by their deadlines. `known` is when each
    became known, by the clock of the predictions or in rows, None where that was before the next.
    """

    predictions: Floats
    expected: Floats
    outcomes: Floats
    smooth: Floats | None
    known: Floats | None = None


def recalibrate_rows(
    recalibrator: Recalibrator,
    rows: Scored,
    ids: Sequence[Id] | None = None,
    *,
    smooth: bool = False,
) -> Recalibrated:
    """Return each row's probability, made from the outcomes that had arrived by then.

    What arrives after the last row, or is due then, waits in the recalibrator: the next table goes
    on as if both were one. Rows with `ids` wait under these. Not undone if it is interrupted.
    """
    clock, available, due, book = rows.clock, rows.available, rows.due, recalibrator._book
    has_more = (available, ids, due) != (None, None, None)
    if not has_more and not book.has_deadlines and not book.coming():
        predictions, watched, words = recalibrator._run(
            rows.scores, rows.outcomes, by=rows.groups, means=True, smooth=smooth
        )
        assert watched is not None
        return Recalibrated(predictions, watched[1], rows.outcomes, words)
    known = when_known(recalibrator, rows)
    told, outcomes = recalibrator._play_table(
        rows.scores, rows.outcomes, rows.groups,
        at=None if clock is None else clock.ticks,
        known=None if available is None else available.ticks,
        due=None if due is None else due.ticks,
        ids=ids, is_dated=clock is not None and clock.sort != "numbers", smooth=smooth,
    )  # fmt: skip
    return Recalibrated(told[0], told[1], outcomes, told[2] if smooth else None, known)


def when_known(recalibrator: Recalibrator, rows: Scored) -> Floats | None:
    """Return when the recalibrator hears of each outcome; None if before the next prediction.

    With silence that is at the deadline at the latest, with hold not before it.
    """
    policy, clock = recalibrator._book.policy, rows.clock
    if rows.available is None and not policy.has_deadlines:
        return None
    size = len(rows.scores)
    made, dues = policy.times(
        size, None if clock is None else clock.ticks, None if rows.due is None else rows.due.ticks,
        -np.inf, None, 0, clock is not None and clock.sort != "numbers",
    )  # fmt: skip
    arrived = np.arange(size, dtype=np.float64) if made is None else made
    if rows.available is not None:
        arrived = rows.available.ticks
    arrived = np.where(np.isnan(rows.outcomes), np.nan, arrived)
    if dues is None:
        return arrived
    return np.asarray(
        np.maximum(arrived, dues) if policy.silence is None else np.fmin(arrived, dues)
    )
