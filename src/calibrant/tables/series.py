"""Columns of data frames: as cells, as numbers and as clocks."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._checks import Floats, describe
from calibrant.tables.clocks import Clock, Sort, read_clock
from calibrant.tables.row_errors import RowError

if TYPE_CHECKING:
    import narwhals as nw

    Series = nw.Series[Any]


def cells_of(series: Series) -> list[Any]:
    """Return a column as a list; every library has a missing value of its own, here it is None."""
    missing = series.is_null().to_list()
    return [None if gone else cell for cell, gone in zip(series.to_list(), missing, strict=True)]


def numbers_of(series: Series, column: str) -> Floats:
    """Return a column of numbers or booleans, NaN where it has none."""
    import narwhals as nw  # noqa: PLC0415

    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        missing = series.is_null().to_numpy()
        numbers = series.cast(nw.Float64()).fill_null(0.0).to_numpy().astype(np.float64)
        bad = ~np.isfinite(numbers)
        if bad.any():
            row = int(bad.argmax())
            raise RowError(
                f"got {float(numbers[row])!r}, must be a finite number", column=column, row=row
            )
        numbers[missing] = math.nan
        return numbers
    # Perhaps numbers all the same, in a column of objects: pandas keeps booleans with gaps so.
    cells = cells_of(series)
    numbers = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        try:
            if cell is not None:
                numbers[row] = finite(cell)
        except (TypeError, OverflowError):
            raise RowError(
                f"got {describe(cell)}, must be a finite number", column=column, row=row
            ) from None
    return numbers


def finite(cell: object) -> float:
    """Return a number of any type as a float; text and the like raise TypeError."""
    if not isinstance(cell, bool | int | float | Decimal | np.bool_ | np.number):
        raise TypeError("no number")
    number = float(cell)
    if not math.isfinite(number):
        raise OverflowError
    return number


def clock_of(series: Series, column: str) -> Clock:
    """Return a column of times as a clock."""
    import narwhals as nw  # noqa: PLC0415

    if isinstance(series.dtype, nw.Datetime):
        microseconds = series.dt.timestamp("us").cast(nw.Float64()).to_numpy().astype(np.float64)
        microseconds[series.is_null().to_numpy()] = math.nan
        sort: Sort = "times with a zone" if series.dtype.time_zone else "times without a zone"
        return Clock(column, microseconds / 1e6, sort, series)
    return read_clock(cells_of(series), column)
