"""A model's scores in a file: what a recalibration takes from its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.tables.arrivals import Arrivals, at_once, by_clock, check_order
from calibrant.tables.cells import BadCellError, finite_numbers, is_missing, probabilities
from calibrant.tables.checks import check_ids, check_parts, check_scores, groups_of
from calibrant.tables.clocks import Clock, read_clock
from calibrant.tables.columns import check_there, find_column
from calibrant.tables.errors import InputError
from calibrant.tables.row_errors import RowError
from calibrant.tables.series import cells_of, clock_of
from calibrant.tables.table import Table, plain


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
    arrivals : Arrivals
        Which outcomes are known to which rows.
    clock : Clock or None
        When each row was predicted.
    groups : list or None
        The group of each row.
    note : str or None
        A line for the user when the column of outcomes was guessed.
    """

    scores: Floats
    outcomes: Floats
    outcome_column: str
    arrivals: Arrivals
    clock: Clock | None
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
    by: str | None = None,
    kind: str = "probability",
) -> Scored:
    """Return what a recalibration takes from a table, or say which row cannot be used.

    The parameters are those of `calibrant.recalibrate.recalibrate_frame`.

    Examples
    --------
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"s": ["0.5", "0.25"], "y": ["1", ""]})
    >>> take_scored(table, score="s").outcomes
    array([ 1., nan])
    """
    names, source = list(table.columns), table.source
    outcome, note = find_column(names, "outcome", outcome, source)
    for given in (score, id, time, available, by):
        check_there(names, given, source)
    check_parts(score, outcome, by)
    with rows_named_as_in(table):
        with cells_in(score):
            scores = finite_numbers(plain(table.columns[score]))
        check_scores(scores, kind, score)
        with cells_in(outcome):
            outcomes = known_outcomes(plain(table.columns[outcome]))
        if np.isnan(outcomes).all():
            raise InputError(
                "no outcome is known: every cell is empty", source=source, column=outcome
            )
        if id is not None:
            check_ids(listed_cells(table, id), id)
        clock = None if time is None else read_column_clock(table, time)
        arrivals = at_once(~np.isnan(outcomes))
        if clock is not None:
            check_order(clock)
        if available is not None:
            if clock is None:
                raise ValueError(
                    "available needs time: an outcome is late for predictions made before it"
                )
            arrivals = by_clock(clock, read_column_clock(table, available), ~np.isnan(outcomes))
        groups = None if by is None else groups_of(listed_cells(table, by), by)
    return Scored(scores, outcomes, outcome, arrivals, clock, groups, note)


def known_outcomes(cells: Sequence[Any] | Floats) -> Floats:
    """Return a column of outcomes, NaN where the cell is empty."""
    missing = [is_missing(cell) for cell in cells]
    if not any(missing):
        return probabilities(cells)
    filled = [0.0 if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    outcomes = probabilities(filled)
    outcomes[missing] = math.nan
    return outcomes


def listed_cells(table: Table, name: str) -> Sequence[Any]:
    """Return a column as a sequence, with None for what is missing."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return column.tolist()  # type: ignore[no-any-return]
    return column if isinstance(column, Sequence) else cells_of(column)


def read_column_clock(table: Table, name: str) -> Clock:
    """Return a column of times as a clock."""
    column = table.columns[name]
    if isinstance(column, Sequence | np.ndarray):
        return read_clock(listed_cells(table, name), name)
    return clock_of(column, name)


@contextmanager
def cells_in(column: str) -> Iterator[None]:
    """Say in which column a cell is that cannot be used."""
    try:
        yield
    except BadCellError as error:
        raise RowError(str(error), column=column, row=error.place) from None


@contextmanager
def rows_named_as_in(table: Table) -> Iterator[None]:
    """Name a row that cannot be used as the user finds it in the file."""
    try:
        yield
    except RowError as error:
        again = ""
        if error.first is not None:
            unit, number = table.row_name(error.first)
            again = f"; it was there in {unit} {number}"
        raise table.refusal(error.problem + again, error.row, error.column) from None
