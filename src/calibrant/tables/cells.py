"""The cells of a column: as numbers, as probabilities, as plain values, or as a clock.

A column is a list of cells that were text (CSV) or JSON, an array, or a series of a data frame.
What a single cell stands for is `notation`'s to say.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, describe
from calibrant.tables.dates import dates_at_once
from calibrant.tables.errors import InputError, listed
from calibrant.tables.notation import (
    NumberOf,
    finite_number,
    is_missing,
    is_same,
    number_in,
    outcome_in,
    probability,
)

if TYPE_CHECKING:
    import narwhals as nw

    #: A column as a table holds it.
    Raw: TypeAlias = Sequence[Any] | npt.NDArray[Any] | nw.Series[Any]

#: What the readings of a clock are. Those of two sorts cannot be compared.
Sort: TypeAlias = Literal["numbers", "times without a zone", "times with a zone"]
TIME = "a number or an ISO date or time such as 2013-03-18T12:09"


def _has_numbers(series: nw.Series[Any]) -> bool:
    """Return whether a series holds numbers or booleans, and none is missing."""
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    return not series.null_count() and (series.dtype.is_numeric() or series.dtype == nw.Boolean)


def _missing(cells: Sequence[Any]) -> list[bool]:
    """Return which cells are missing; where it is possible, each value is looked at once."""
    try:
        words = {cell for cell in set(cells) if is_missing(cell)}
    except TypeError:  # lists and objects of JSON cannot be in a set
        return list(map(is_missing, cells))
    return [cell in words for cell in cells]


def _position(row: int) -> tuple[str, int]:
    """Return what messages call a row of a column that belongs to no table."""
    return "position", row


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    column : str
        What the column is called.
    raw : sequence, array or series
        The cells as they were read.
    text : bool
        Whether text may stand for a number, as it does in a file.
    source : str or None
        The file or table that holds the column, for messages.
    row_name : callable
        What messages call the row at a position: the unit and the number.
    decimal : {".", ","}
        What text has before the decimals of a number. With a comma, a column may still be written
        with points, but not with both.

    Examples
    --------
    >>> from calibrant.tables import Cells
    >>> cells = Cells("rain", ["1", "false", ""])
    >>> cells.probabilities(missing=True)
    array([ 1.,  0., nan])
    >>> cells.probabilities()
    Traceback (most recent call last):
    calibrant.tables.errors.InputError: position 2, column 'rain': the value is missing; must be
        a number in [0, 1], or true or false
    """

    column: str
    raw: Raw
    text: bool = True
    source: str | None = None
    row_name: Callable[[int], tuple[str, int]] = _position
    decimal: str = "."

    def refusal(self, row: int, problem: str) -> InputError:
        """Return the error that refuses one cell."""
        unit, number = self.row_name(row)
        return InputError(
            problem,
            value=self.raw[row],
            source=self.source,
            row=number,
            unit=unit,
            column=self.column,
        )

    def values(self) -> Sequence[Any]:
        """Return Python's own values. Each library has a missing value of its own, here it is None.

        A missing cell of a text file stays as it is; `is_missing` knows both.
        """
        if isinstance(self.raw, Sequence):
            return self.raw
        if isinstance(self.raw, np.ndarray):
            return self.raw.tolist()  # type: ignore[no-any-return]
        listed = self.raw.to_list()
        if not self.raw.null_count():
            return listed
        return [
            None if gone else cell for cell, gone in zip(listed, self.raw.is_null(), strict=True)
        ]

    def probabilities(self, *, missing: bool = False) -> Floats:
        """Return numbers in [0, 1]; NaN for missing cells, if some may be missing."""
        return self.numbers(probability, 0.0, 1.0, missing=missing)

    def outcomes(self, *, positive: str | None = None, missing: bool = False) -> Floats:
        """Return outcomes in [0, 1]; NaN for missing cells, if some may be missing.

        With `positive`, cells that hold this value are 1 and those that hold another are 0; that
        there is none of them is an error.
        """
        if positive is None:
            return self.numbers(outcome_in, 0.0, 1.0, missing=missing)
        cells = self.values()
        known = {cell: is_same(cell, positive, self.decimal) for cell in set(map(str, cells))}
        if not any(known.values()):
            values = [cell for cell in dict.fromkeys(map(str, cells)) if not is_missing(cell)]
            raise InputError(
                f"no value is {positive!r}, which is to count as 1; there are {listed(values)}",
                source=self.source,
                column=self.column,
            )
        gone = [not known[str(cell)] and is_missing(cell) for cell in cells]
        if any(gone) and not missing:
            row = gone.index(True)
            raise self.refusal(row, f"the value is missing; must be {positive!r}, or another value")
        outcomes = np.array([known[str(cell)] for cell in cells], np.float64)
        outcomes[gone] = math.nan
        return outcomes

    def numbers(
        self,
        number_of: NumberOf = finite_number,
        low: float = -sys.float_info.max,
        high: float = sys.float_info.max,
        *,
        missing: bool = False,
    ) -> Floats:
        """Return numbers in [low, high], or raise InputError for the first cell that is none.

        `number_of` reads one cell, and says what is wrong with it.
        """
        raw = self.raw
        if not isinstance(raw, Sequence | np.ndarray) and _has_numbers(raw):
            typed = raw.to_numpy().astype(np.float64)
            if ((typed >= low) & (typed <= high)).all():  # not so for NaN
                return typed
        cells = self.values()
        numbers = self._all_at_once(cells, low, high)
        if numbers is not None:
            return numbers
        if self.decimal == ",":
            self._check_decimals(cells)
        gone = _missing(cells) if missing else [False] * len(cells)
        fill = repr(low)
        simple = [fill if no else cell for cell, no in zip(cells, gone, strict=True)]
        if self.decimal == ",":
            simple = [c.replace(",", ".") if isinstance(c, str) else c for c in simple]
        numbers = self._all_at_once(simple, low, high)
        if numbers is None:
            # Some cell is a word, or must be named in an error.
            numbers = self._one_by_one(cells, gone, number_of)
        numbers[gone] = math.nan
        return numbers

    def _all_at_once(self, cells: Sequence[Any], low: float, high: float) -> Floats | None:
        """Return what `number_in` reads in these cells; None if any is no number in [low, high]."""
        types = set(map(type, cells))
        if [each for each in types if issubclass(each, bytes | bytearray)]:
            return None
        texts = cells if types == {str} else [cell for cell in cells if isinstance(cell, str)]
        text = "".join(texts)
        # What Python alone takes for a number: 0_1, and digits of other scripts.
        if "_" in text or not text.isascii() or (text and not self.text):
            return None
        try:
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
        except (TypeError, ValueError, OverflowError):
            return None
        return numbers if ((numbers >= low) & (numbers <= high)).all() else None  # none if NaN

    def _check_decimals(self, cells: Sequence[Any]) -> None:
        """Refuse a column that has decimal commas in some cells and points in others."""
        marks: dict[str, int] = {}
        for row, cell in enumerate(cells):
            if isinstance(cell, str) and number_in(cell, words=False, decimal=",") is not None:
                marks.setdefault("," if "," in cell else "." if "." in cell else "", row)
        if "," in marks and "." in marks:
            row = max(marks[","], marks["."])
            other = self.raw[min(marks[","], marks["."])]
            raise self.refusal(
                row,
                f"got {self.raw[row]!r} after {other!r}: write a column with decimal commas or "
                "with decimal points, not with both",
            )

    def _one_by_one(
        self, cells: Sequence[Any], gone: Sequence[bool], number_of: NumberOf
    ) -> Floats:
        numbers = np.empty(len(cells))
        for row, cell in enumerate(cells):
            if gone[row]:
                continue
            if not self.text and isinstance(cell, str):
                hint = "; or say which value counts as 1, positive=..."
                hint = hint if number_of is outcome_in else ""
                raise self.refusal(row, f"got {describe(cell)}, must be a number{hint}")
            try:
                numbers[row] = number_of(cell, self.decimal)
            except InputError as error:
                raise self.refusal(row, error.problem) from None
        return numbers

    def clock(self) -> Clock:
        """Return numbers, text or dates and times as the readings of a clock, NaN for empty cells.

        Raises InputError for the first cell that is none, or of another sort than those before.
        """
        if not isinstance(self.raw, Sequence | np.ndarray):
            import narwhals as nw  # noqa: PLC0415 - needed for data frames only

            if isinstance(self.raw.dtype, nw.Datetime):
                ticks = self.raw.dt.timestamp("us").cast(nw.Float64()).to_numpy().astype(np.float64)
                ticks[self.raw.is_null().to_numpy()] = math.nan
                zoned = self.raw.dtype.time_zone is not None
                return Clock(
                    self, ticks / 1e6, "times with a zone" if zoned else "times without a zone"
                )
        cells = self.values()
        return Clock(self, *(self._ticks_at_once(cells) or self._ticks_one_by_one(cells)))

    def _ticks_at_once(self, cells: Sequence[Any]) -> tuple[Floats, Sort | None] | None:
        """Return what `read_tick` makes of all cells; None if it may refuse one, or is needed."""
        types = set(map(type, cells)) - {type(None)}
        first = next(itertools.filterfalse(is_missing, cells), None)
        if number_in(first, words=False) is None:
            return dates_at_once(cells) if types <= {str} else None
        if not types <= {str, int, float}:  # a truth value is no time
            return None
        gone = _missing(cells)
        known = [cell for cell, no in zip(cells, gone, strict=True) if not no]
        numbers = self._all_at_once(known, -sys.float_info.max, sys.float_info.max)
        if numbers is None:
            return None
        ticks = np.full(len(cells), math.nan)
        ticks[~np.array(gone)] = numbers
        return ticks, "numbers"

    def _ticks_one_by_one(self, cells: Sequence[Any]) -> tuple[Floats, Sort | None]:
        ticks = np.full(len(cells), math.nan)
        sort: Sort | None = None
        for row, cell in enumerate(cells):
            if is_missing(cell):
                continue
            try:
                ticks[row], found = read_tick(cell)
            except (ValueError, OverflowError, TypeError):
                raise self.refusal(row, f"got {describe(cell)}, must be {TIME}") from None
            if sort is not None and found != sort:
                raise self.refusal(
                    row, f"got {cell!s}: {found} among {sort} cannot be put in order"
                )
            sort = found
        return ticks, sort


@dataclass(frozen=True, eq=False)
class Clock:
    """The readings of a clock, one a row.

    Attributes
    ----------
    cells : Cells
        The readings as they were given, for messages.
    ticks : array of float
        The readings as numbers, times as seconds since 1970; NaN where there is none.
    sort : str or None
        What they are; None when all are missing.

    Examples
    --------
    >>> from calibrant.tables import Cells
    >>> clock = Cells("t", ["2013-03-18", None, "2013-03-18T12"]).clock()
    >>> clock.sort
    'times without a zone'
    >>> clock.ticks - clock.ticks[0]
    array([    0.,    nan, 43200.])
    """

    cells: Cells
    ticks: Floats
    sort: Sort | None

    def take(self, rows: npt.NDArray[np.int64]) -> Clock:
        """Return the readings of some rows."""
        raw = [self.cells.raw[row] for row in rows.tolist()]
        return Clock(replace(self.cells, raw=raw), self.ticks[rows], self.sort)

    def shown(self, row: int) -> str:
        """Return a reading as a message shows it."""
        return str(self.cells.raw[row])

    def check_order(self) -> None:
        """Refuse a clock that some row lacks, or that runs backwards."""
        missing = np.isnan(self.ticks)
        back = np.diff(self.ticks, prepend=self.ticks[:1]) < 0.0
        if missing.any():
            row = int(missing.argmax())
            raise self.cells.refusal(row, f"the value is missing; must be {TIME}")
        if back.any():
            row = int(back.argmax())
            raise self.cells.refusal(
                row,
                f"the clock runs backwards: {self.shown(row)} comes after {self.shown(row - 1)}; "
                "rows must be in the order of time",
            )


def read_tick(cell: object) -> tuple[float, Sort]:
    """Return one reading as a number, and what it is."""
    if isinstance(cell, str):
        number = number_in(cell, words=False)
        return read_tick(datetime.fromisoformat(cell.strip()) if number is None else number)
    if isinstance(cell, datetime):
        if cell.tzinfo is None:
            return cell.replace(tzinfo=UTC).timestamp(), "times without a zone"
        return cell.timestamp(), "times with a zone"
    if isinstance(cell, date):
        return read_tick(datetime(cell.year, cell.month, cell.day))
    if isinstance(cell, bool | np.bool_) or not math.isfinite(cell):  # type: ignore[arg-type]
        raise ValueError("no time")
    return float(cell), "numbers"  # type: ignore[arg-type]
