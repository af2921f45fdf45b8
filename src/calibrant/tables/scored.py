"""A model's scores in a table: what a recalibration takes from its columns.

Rows are predicted in order. An outcome that became known at time t is used by predictions made
after t; one made at exactly t does not use it, because clocks with coarse ticks do not show which
came first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_choice, check_id, describe
from calibrant.tables.cells import PERCENTS, Cells, Clock, is_empty, is_missing
from calibrant.tables.table import Table

#: What scores may be but shares.
SCALES = ("percent",)
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
    scale: str | None = None,
    text: bool = True,
    missing: bool = False,
) -> Scored:
    """Return what a recalibration takes from a table; raise InputError for an invalid row.

    The parameters are those of `calibrant.recalibrate.recalibrate_frame`; `positive` is the value
    of an outcome that counts as 1, where every other is 0; with `scale` "percent" scores are from 0
    to 100; `text` says whether text may stand for
    scores and outcomes, as it must in files, and `missing` whether scores may be missing and an id
    may come twice, as in a log.

    Examples
    --------
    >>> from calibrant.tables import Table, take_scored
    >>> table = Table("memory", {"s": ["0.5", "0.25"], "y": ["1", ""]})
    >>> take_scored(table, score="s").outcomes
    array([ 1., nan])
    """
    outcome, note = (outcome, None) if outcome is not None else table.guess("outcome")
    check_parts(score, outcome, by)
    if available is not None and time is None:
        raise ValueError("available needs time: an outcome is late for predictions made before it")
    if due is not None and time is None:
        raise ValueError("due needs time: a deadline is later than its prediction")
    scores = table.cells(score, text=text).numbers(missing=missing)
    if scale is not None:
        check_choice("scale", scale, SCALES)
        scores = scores / 100.0
    outside = (scores < 0.0) | (scores > 1.0)
    if kind == "probability" and outside.any():
        row = int(outside.argmax())
        raise table.cells(score).refusal(
            row,
            f"got {float(scores[row])!r}, must be a number in [0, 1]; {PERCENTS} (--scale "
            "percent), and for scores of another scale say kind 'logit' or 'margin' (--kind)",
        )
    outcomes = table.cells(outcome, text=text).outcomes(positive=positive, missing=True)
    if id is not None and not missing:
        check_ids(table.cells(id))
    clock, known, end = [
        None if name is None else table.cells(name).clock() for name in (time, available, due)
    ]
    if clock is not None:
        clock.check_order(available=known, due=end, predicted=~np.isnan(scores))
    groups = None if by is None else take_groups(table.cells(by))
    return Scored(scores, outcomes, outcome, clock, known, end, groups, note)


def prepare(
    table: Table,
    *,
    score: str | None = None,
    id: str | None = None,  # noqa: A002
    sort: str | None = None,
    missing: str | None = None,
    clocks: Sequence[str | None] = (),
    date_format: str | None = None,
) -> tuple[Table, list[str]]:
    """Return a table whose rows can be played, as the user asks for it, and what was done.

    Parameters
    ----------
    score, id : str, optional
        The column of scores; the column of ids, or several with commas, of which one is made.
    sort : str, optional
        The column of time that rows are put in the order of; rows of one time stay as they are.
    missing : {"skip"}, optional
        Leave out rows without a score.
    clocks : sequence of str
        Columns of times, and `date_format` how they are written, as `strptime` has it.

    Examples
    --------
    >>> from calibrant.tables import Table
    >>> from calibrant.tables.scored import prepare
    >>> table = Table("memory", {"t": ["2", "1", "3"], "s": ["0.5", "0.25", ""]})
    >>> prepare(table, score="s", sort="t", missing="skip")[0].columns
    {'t': ['1', '2'], 's': ['0.25', '0.5']}
    """
    done = []
    if date_format is not None:
        named = dict.fromkeys(name for name in (*clocks, sort) if name is not None)
        if not named:
            raise ValueError("a date format needs a column of time")
        table = replace(
            table, columns={**table.columns, **{n: dated(table, n, date_format) for n in named}}
        )
    if id is not None and "," in id and id not in table.columns:
        parts = [table.cells(name.strip()).values() for name in id.split(",")]
        cells = zip(*parts, strict=True)
        table = replace(
            table, columns={**table.columns, id: ["|".join(map(str, c)) for c in cells]}
        )
    if missing is not None and score is not None:
        check_choice("missing", missing, ("skip",))
        gone = np.array([is_missing(cell) for cell in table.cells(score).values()], dtype=bool)
        if gone.any():
            table = table.at(np.flatnonzero(~gone))
            done.append(f"{int(gone.sum()):,} rows without a score are left out")
    if sort is not None:
        ticks = table.cells(sort).clock().ticks
        if np.isnan(ticks).any():
            raise table.cells(sort).refusal(int(np.isnan(ticks).argmax()), "the time is missing")
        order = np.argsort(ticks, kind="stable")
        moved = int((order != np.arange(len(order))).sum())
        if moved:
            table = table.at(order)
            done.append(f"rows are sorted by {sort!r}: {moved:,} of {len(order):,} were moved")
    return table, done


def dated(table: Table, column: str, date_format: str) -> list[str | None]:
    """Return a column of times, each written as ISO 8601 has it."""
    cells, times = table.cells(column), []
    for row, cell in enumerate(cells.values()):
        try:
            is_time = not is_missing(cell)
            times.append(datetime.strptime(str(cell), date_format).isoformat() if is_time else None)
        except ValueError:
            raise cells.refusal(
                row, f"got {cell!r}, which is not written as --date-format {date_format} says"
            ) from None
    return times


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
                row,
                f"duplicate id {cell!r}, first seen in {unit} {number}. An id names one "
                "prediction: make it of several columns (--id customer,month), or leave it out",
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


def as_probabilities(scores: Floats, kind: str) -> Floats | None:
    """Return the probabilities that scores stand for; None for margins, of unknown unit."""
    if kind == "logit":
        return np.exp(-np.logaddexp(0.0, -scores))
    return scores if kind == "probability" else None
