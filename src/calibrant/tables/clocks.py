"""Columns of times: numbers, or ISO dates and times with or without a zone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, Protocol, TypeAlias

import numpy as np

from calibrant._checks import Floats, describe
from calibrant.tables.row_errors import RowError


class Cells(Protocol):
    """What a row's cell can be looked up in."""

    def __getitem__(self, row: int, /) -> object:
        """Return the cell of a row."""


#: What the readings of a clock are. Those of two sorts cannot be compared.
Sort: TypeAlias = Literal["numbers", "times without a zone", "times with a zone"]

ALLOWED = "a number or an ISO date or time such as 2013-03-18T12:09"


@dataclass(frozen=True, eq=False)
class Clock:
    """The readings of a clock, one a row.

    Attributes
    ----------
    column : str
        What the column is called.
    ticks : array of float
        The readings as numbers, times as seconds since 1970; NaN where there is none.
    sort : str or None
        What they are; None when all are missing.
    cells : sequence
        The readings as they were given, for messages.

    Examples
    --------
    >>> clock = read_clock(["2013-03-18", None, "2013-03-18T12"], "t")
    >>> clock.sort
    'times without a zone'
    >>> clock.ticks - clock.ticks[0]
    array([    0.,    nan, 43200.])
    """

    column: str
    ticks: Floats
    sort: Sort | None
    cells: Cells

    def __len__(self) -> int:
        return len(self.ticks)

    def shown(self, row: int) -> str:
        """Return a reading as a message shows it."""
        cell = self.cells[row]
        return cell if isinstance(cell, str) else str(cell)

    def require_all(self) -> None:
        """Refuse a clock that some row lacks."""
        missing = np.isnan(self.ticks)
        if missing.any():
            raise RowError(
                f"the value is missing; must be {ALLOWED}",
                column=self.column,
                row=int(missing.argmax()),
            )

    def require_order(self) -> None:
        """Refuse a clock that runs backwards."""
        back = np.diff(self.ticks) < 0.0
        if back.any():
            row = int(back.argmax()) + 1
            raise RowError(
                f"the clock runs backwards: {self.shown(row)} comes after {self.shown(row - 1)}; "
                "rows must be in the order of time",
                column=self.column,
                row=row,
            )


def read_clock(cells: Sequence[object], column: str) -> Clock:
    """Return a column of numbers, text or Python's dates and times as a clock."""
    ticks = np.full(len(cells), math.nan)
    sort: Sort | None = None
    for row, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        try:
            ticks[row], found = read_tick(cell)
        except (ValueError, OverflowError, TypeError):
            raise RowError(
                f"got {describe(cell)}, must be {ALLOWED}", column=column, row=row
            ) from None
        if sort is not None and found != sort:
            raise RowError(
                f"got {cell!s}: {found} among {sort} cannot be put in order",
                column=column,
                row=row,
            )
        sort = found
    return Clock(column, ticks, sort, cells)


def read_tick(cell: object) -> tuple[float, Sort]:
    """Return one reading as a number, and what it is."""
    if isinstance(cell, str):
        try:
            return read_tick(float(cell))
        except ValueError:
            return read_tick(datetime.fromisoformat(cell.strip()))
    if isinstance(cell, datetime):
        if cell.tzinfo is None:
            return cell.replace(tzinfo=UTC).timestamp(), "times without a zone"
        return cell.timestamp(), "times with a zone"
    if isinstance(cell, date):
        return read_tick(datetime(cell.year, cell.month, cell.day))
    if isinstance(cell, bool | np.bool_) or not math.isfinite(cell):  # type: ignore[arg-type]
        raise ValueError("no time")
    return float(cell), "numbers"  # type: ignore[arg-type]
