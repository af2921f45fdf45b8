"""Rows with times of arrival: each is predicted from the outcomes that had arrived by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.checks import Columns, Finding, check_columns, refuse
from calibrant.checks.order import time_order
from calibrant.checks.scores import scale
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.tables.errors import InputError
from calibrant.tables.scored import take_scored

if TYPE_CHECKING:
    from calibrant.tables import Scored, Table

#: With fewer rows, the first one that cannot be used says it all.
ENOUGH = 50


class Recalibrated(NamedTuple):
    """What was predicted of each row before its outcome was known, and the outcome that counted.

    `expected` is the mean of what might have been predicted, which a monitor watches; `smooth` the
    estimate for ranking, None unless it was asked for. `outcomes` are those that were settled, NaN
    where none was. Rows whose deadline is not over by the last row are `waiting`, and have none
    either: what is known of them so early is mostly of one kind. `known` is when each became known,
    by the clock of the predictions or in rows, None where that was before the next.
    """

    predictions: Floats
    expected: Floats
    outcomes: Floats
    smooth: Floats | None
    known: Floats | None = None
    waiting: int = 0


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
    clock, due, book = rows.clock, rows.due, recalibrator._book
    known = None if rows.available is None else rows.available.ticks
    if known is None and clock is not None and (np.diff(clock.ticks) == 0.0).any():
        # Rows of one time are a batch: none of them can have known the outcome of another.
        known = np.where(np.isnan(rows.outcomes), np.nan, clock.ticks)
    is_plain = known is None and ids is None and due is None
    if is_plain and not book.has_deadlines and not book.coming():
        predictions, watched, estimates = recalibrator._run(
            rows.scores, rows.outcomes, by=rows.groups, means=True, smooth=smooth
        )
        assert watched is not None
        return Recalibrated(predictions, watched[1], rows.outcomes, estimates)
    told, outcomes, made, dues = recalibrator._play_table(
        rows.scores, rows.outcomes, rows.groups,
        at=None if clock is None else clock.ticks,
        known=known, due=None if due is None else due.ticks,
        ids=ids, is_dated=clock is not None and clock.sort != "numbers", smooth=smooth,
    )  # fmt: skip
    waiting = 0
    if dues is not None:
        is_young = dues >= made[-1] if clock is not None else dues > len(made)
        outcomes, waiting = np.where(is_young, np.nan, outcomes), int(is_young.sum())
    estimates = told[2] if smooth else None
    if known is not None or dues is not None:
        known = np.where(np.isnan(rows.outcomes), np.nan, made if known is None else known)
        if dues is not None:
            # With silence an outcome counts at its deadline at the latest, held not before it.
            known = (np.maximum if book.policy.silence is None else np.fmin)(known, dues)
    return Recalibrated(told[0], told[1], outcomes, estimates, known, waiting)


def take_rows(table: Table, **parts: Any) -> Scored:
    """Return what a recalibration takes from a table, as `take_scored`.

    Where that fails, whole columns are looked at first: if one is of another scale, or not in the
    order of time, the first bad cell says too little.
    """
    try:
        return take_scored(table, **parts)
    except InputError:
        if len(table) >= ENOUGH:
            check_whole_columns(table, parts)
        raise


def check_whole_columns(table: Table, parts: Mapping[str, Any]) -> None:
    """Refuse columns of times out of order, and of scores that are missing or percents."""
    if parts.get("time") is not None:
        check_time(table, parts["time"])
    wide = take_scored(
        table, score=parts["score"], outcome=parts.get("outcome"), positive=parts.get("positive"),
        kind="margin", missing=True,
    )  # fmt: skip
    gone = int(np.isnan(wide.scores).sum())
    if gone:
        raise InputError(
            f"{gone:,} of {len(wide.scores):,} rows have no score: leave them out (--missing skip) "
            "or fill them in",
            source=table.source, column=parts["score"],
        )  # fmt: skip
    if parts.get("kind", "probability") == "probability" and parts.get("scale") is None:
        found = scale(Columns(wide.outcomes, wide.scores))
        if found is not None:
            raise InputError(found.message, source=table.source, column=parts["score"])


def check_time(table: Table, column: str) -> None:
    """Refuse a column of time that is out of order, if there are enough rows to say how."""
    ticks = table.cells(column).clock().ticks
    found = None if np.isnan(ticks).any() or len(ticks) < ENOUGH else time_order(ticks)
    if found is not None:
        raise InputError(found.message, source=table.source, column=column)


def checked(
    recalibrator: Recalibrator,
    rows: Scored,
    allow: str | Sequence[str] = (),
    source: str | None = None,
) -> list[Finding]:
    """Return what checks find in rows that are to be recalibrated; raise what they refuse."""
    policy = recalibrator._book.policy
    made, known, due = [
        None if each is None else each.ticks for each in (rows.clock, rows.available, rows.due)
    ]
    has_silence = policy.silence is not None
    is_dated = rows.clock is not None and rows.clock.sort != "numbers"
    if has_silence and made is not None:
        _, due = policy.times(len(made), made, due, -np.inf, None, 0, is_dated)
    found = check_columns(
        Columns(
            rows.outcomes, rows.scores, made, known, due if has_silence else None,
            kind=recalibrator.kind, is_time=is_dated, has_silence=has_silence,
            has_hold=policy.has_deadlines and not has_silence,
        ),
        allow,
    )  # fmt: skip
    refuse(found, source)
    return found
