"""A model's scores in a table: what a recalibration takes from its columns.

Rows are predicted in their order. An outcome that became known at time t is used by predictions
made after t; one made at exactly t does without it, because clocks with coarse ticks cannot say
which came first.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id, describe
from calibrant.tables.cells import Cells, Clock
from calibrant.tables.errors import InputError
from calibrant.tables.notation import PERCENTS, is_empty
from calibrant.tables.table import Table

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scored:
    """The columns of a table that a recalibration needs, checked.

    Attributes
    ----------
    scores : array of float
        One a row, of the declared kind.
    outcomes : array of float
        In [0, 1], NaN where the cell is empty.
    outcome_column : str
        The column of the outcomes, named or guessed.
    clock : Clock or None
        When each row was predicted.
    available : Clock or None
        When each outcome became known.
    due : Clock or None
        Each row's deadline.
    groups : list or None
        The group of each row.
    note : str or None
        A line for the user when the column of outcomes was guessed.

    Examples
    --------
    >>> from calibrant.tables import Table, take_scored
    >>> table = Table("memory", {"s": ["0.5", "0.25"], "y": ["1", "0"], "place": ["a", "b"]})
    >>> rows = take_scored(table, score="s", by="place")
    >>> rows.scores, rows.outcome_column, rows.groups
    (array([0.5 , 0.25]), 'y', ['a', 'b'])
    """

    scores: Floats
    outcomes: Floats
    outcome_column: str
    clock: Clock | None
    available: Clock | None
    due: Clock | None
    groups: list[Id] | None
    note: str | None


def take_scored(
    table: Table,
    *,
    score: str,
    outcome: str | None = None,
    id: str | None = None,  # noqa: A002
    time: str | None = None,
    available: str | None = None,
    due: str | None = None,
    by: str | None = None,
    kind: str = "probability",
    positive: str | None = None,
    text: bool = True,
    missing: bool = False,
) -> Scored:
    """Return what a recalibration takes from a table, or say which row cannot be used.

    The parameters are those of `calibrant.recalibrate.recalibrate_frame`; `positive` is the value
    of an outcome that counts as 1, where every other is 0; `text` says whether text may stand for
    scores and outcomes, as it must in files, and `missing` whether scores may be missing and an id
    may come twice, as in a log.

    Examples
    --------
    >>> from calibrant.tables import Table, take_scored
    >>> table = Table("memory", {"s": ["0.5", "0.25"], "y": ["1", ""]})
    >>> take_scored(table, score="s").outcomes
    array([ 1., nan])
    """
    outcome, note = table.find("outcome", outcome)
    parts = {
        "score": score, "id": id, "time": time, "available": available, "due": due, "group": by,
    }  # fmt: skip
    for part, name in parts.items():
        if name is not None:
            table.find(part, name)
    check_parts(score, outcome, by)
    if available is not None and time is None:
        raise ValueError("available needs time: an outcome is late for predictions made before it")
    if due is not None and time is None:
        raise ValueError("due needs time: a deadline is later than its prediction")
    scores = table.cells(score, text=text).numbers(missing=missing)
    outside = (scores < 0.0) | (scores > 1.0)
    if kind == "probability" and outside.any():
        row = int(outside.argmax())
        raise table.cells(score).refusal(
            row,
            f"got {float(scores[row])!r}, must be a number in [0, 1]; {PERCENTS}, and for scores "
            "of another scale say kind 'logit' or 'margin' (--kind)",
        )
    outcomes = table.cells(outcome, text=text).outcomes(positive=positive, missing=True)
    if id is not None and not missing:
        check_ids(table.cells(id))
    clock, known, end = [
        None if name is None else table.cells(name).clock() for name in (time, available, due)
    ]
    if clock is not None:
        clock.check_order()
        check_times(clock, available=known, due=end, predicted=~np.isnan(scores))
    groups = None if by is None else take_groups(table.cells(by))
    return Scored(scores, outcomes, outcome, clock, known, end, groups, note)


def check_parts(score: str, outcome: str, by: str | None) -> None:
    """Refuse a column of outcomes that is also the score or the group, known before them."""
    for part, name in (("score", score), ("group", by)):
        if name == outcome:
            raise ValueError(
                f"column {name!r} cannot be both the {part} and the outcome, "
                "which is known only later"
            )


def check_ids(cells: Cells) -> None:
    """Refuse an id that is missing or comes twice."""
    first: dict[Hashable, int] = {}
    for row, cell in enumerate(cells.values()):
        if is_empty(cell):
            raise cells.refusal(row, "the id is missing")
        try:
            before = first.setdefault(cell, row)
        except TypeError:  # it, or something inside it, cannot be hashed
            raise cells.refusal(row, f"got {describe(cell)}, which cannot be an id") from None
        if before != row:
            unit, number = cells.row_name(before)
            raise cells.refusal(
                row, f"the id {cell!r} comes again; it was there in {unit} {number}"
            )


def take_groups(cells: Cells) -> list[Id]:
    """Return the group of each row, text or an integer."""
    groups: list[Id] = []
    for row, cell in enumerate(cells.values()):
        if is_empty(cell):
            raise cells.refusal(row, "the group is missing")
        try:
            groups.append(check_id(cell, "a group"))
        except ValueError as error:
            raise cells.refusal(row, str(error)) from None
    return groups


def check_times(
    time: Clock,
    *,
    available: Clock | None = None,
    due: Clock | None = None,
    predicted: Mask | bool = True,
) -> None:
    """Refuse clocks that cannot be compared, and times that come before their prediction.

    An outcome cannot be known before its prediction is made; a deadline must be there where a row
    is `predicted`, and be later than that.
    """
    for other in (available, due):
        if other is not None and other.sort not in (None, time.sort):
            raise InputError(
                f"column {other.cells.column!r} holds {other.sort} and column "
                f"{time.cells.column!r} holds {time.sort}: the two cannot be compared",
                source=time.cells.source,
            )
    if available is not None and (early := available.ticks < time.ticks).any():
        row = int(early.argmax())
        raise available.cells.refusal(
            row,
            f"the outcome is available at {available.shown(row)}, before its prediction at "
            f"{time.shown(row)}",
        )
    if due is not None and (wrong := ~(due.ticks > time.ticks) & predicted).any():
        row = int(wrong.argmax())
        if np.isnan(due.ticks[row]):
            raise due.cells.refusal(row, "the deadline is missing")
        raise due.cells.refusal(
            row,
            f"the deadline {due.shown(row)} is not later than the prediction at {time.shown(row)}",
        )


def as_probabilities(scores: Floats, kind: str) -> Floats | None:
    """Return the probabilities that scores stand for; None for margins, of unknown unit."""
    if kind == "logit":
        return np.exp(-np.logaddexp(0.0, -scores))
    return scores if kind == "probability" else None
