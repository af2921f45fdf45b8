"""The cells of a column: as numbers, as probabilities, as plain values, or as a clock.

A column is a list of cells that were text (CSV) or JSON, an array, or a series of a data frame.
What counts as missing and which number a cell stands for is decided here and nowhere else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, describe
from calibrant.tables.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

    #: A column as a table holds it.
    Raw: TypeAlias = Sequence[Any] | npt.NDArray[Any] | nw.Series[Any]

WORDS = {"true": 1.0, "false": 0.0}
#: What the readings of a clock are. Those of two sorts cannot be compared.
Sort: TypeAlias = Literal["numbers", "times without a zone", "times with a zone"]
TIME = "a number or an ISO date or time such as 2013-03-18T12:09"


def is_missing(cell: object) -> bool:
    """Return whether a cell is empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def number_in(cell: object, *, words: bool = True) -> float | None:
    """Return the number that a cell stands for, or None; as words, true and false are 1 and 0."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return WORDS.get(cell.strip().lower()) if words and isinstance(cell, str) else None


def probability(cell: object) -> float:
    """Return one cell as a number in [0, 1], or raise InputError that says why not."""
    allowed = "a number in [0, 1], or true or false"
    if is_missing(cell):
        raise InputError(f"the value is missing; must be {allowed}", value=cell)
    number = number_in(cell)
    if number is None or not 0.0 <= number <= 1.0:  # also refuses NaN
        raise InputError(f"got {_shown(cell)}, must be {allowed}", value=cell)
    return number


def finite_number(cell: object) -> float:
    """Return one cell as a finite number, or raise InputError that says why not."""
    if is_missing(cell):
        raise InputError("the value is missing; must be a number", value=cell)
    number = number_in(cell, words=False)
    if number is None or not math.isfinite(number):
        raise InputError(f"got {_shown(cell)}, must be a finite number", value=cell)
    return number


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        cell = float(cell)  # or NumPy would write its type
    return repr(cell) if isinstance(cell, str | float | int) else describe(cell)


def _has_numbers(series: nw.Series[Any]) -> bool:
    """Return whether a series holds numbers or booleans, and none is missing."""
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    return not series.null_count() and (series.dtype.is_numeric() or series.dtype == nw.Boolean)


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

        An empty cell of a text file stays one; `is_missing` knows both.
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
        """Return numbers in [0, 1]; NaN for empty cells, if some may be missing."""
        return self.numbers(probability, 0.0, 1.0, missing=missing)

    def numbers(
        self,
        number_of: Callable[[object], float] = finite_number,
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
        empty = list(map(is_missing, cells)) if missing else []
        if any(empty):
            cells = [low if gone else cell for cell, gone in zip(cells, empty, strict=True)]
        try:
            if not self.text and any(isinstance(cell, str) for cell in cells):
                raise TypeError("text is no number here")
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
        except (TypeError, ValueError, OverflowError):
            numbers = np.full(len(cells), math.nan)
        if not ((numbers >= low) & (numbers <= high)).all():
            # Some cell is true or false, or must be named in an error.
            numbers = self._one_by_one(cells, number_of)
        if any(empty):
            numbers[empty] = math.nan
        return numbers

    def _one_by_one(self, cells: Sequence[Any], number_of: Callable[[object], float]) -> Floats:
        numbers = np.empty(len(cells))
        for row, cell in enumerate(cells):
            if not self.text and isinstance(cell, str):
                raise self.refusal(row, f"got {describe(cell)}, must be a number")
            try:
                numbers[row] = number_of(cell)
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
        return Clock(self, ticks, sort)


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
