"""The cells of a column: as numbers, as probabilities, as plain values, or as a clock.

A column is a list of cells that were text (CSV) or JSON, an array, or a series of a data frame.
Only this module defines which words mean that a value is missing, how a number is written, and
which words stand for true and false.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, describe
from calibrant.tables.errors import InputError, listed

if TYPE_CHECKING:
    import narwhals as nw

    #: A column as a table holds it.
    Raw: TypeAlias = Sequence[Any] | npt.NDArray[Any] | nw.Series[Any]

#: What the readings of a clock are. Those of two sorts cannot be compared.
Sort: TypeAlias = Literal["numbers", "times without a zone", "times with a zone"]
TIME = (
    "a number or an ISO date or time such as 2013-03-18T12:09 (--date-format says how others are "
    "written)"
)

#: How a cell says that there is no value, in any case of letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
#: How an outcome is written in words, in any case of letters.
WORDS = {
    "true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0,
}  # fmt: skip
#: A number as C and JSON write it: not Python's 0_1, and no digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
#: What to do about scores and predictions from 0 to 100.
PERCENTS = "divide percentages by 100"
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}([.,'\s][0-9]{3})+([.,][0-9]+)?")

#: Reads one cell, given what its numbers have before their decimals: "." or ",".
NumberOf: TypeAlias = Callable[[object, str], float]

_MINUTES = "0000-00-00T00:00"
_TIMES = (_MINUTES, f"{_MINUTES}:00", f"{_MINUTES}:00.000", f"{_MINUTES}:00.000000")
#: The usual forms, with 0 for any digit. A cell's length shows which of them it may be.
FORMS = {
    len(time + zone): (time, zone)
    for time, zone in (
        ("0000-00-00", ""),
        *((time, zone) for time in _TIMES for zone in ("", "Z", "+00:00")),
    )
}
#: Makes a date its form.
AS_FORM = str.maketrans("123456789 ", "000000000T")
#: NumPy knows a year 0, Python does not.
FIRST = np.datetime64("0001-01-01")
#: Up to here a float64 holds every integer, and a division rounds only once, as Python's does.
EXACT = 2**53


# -- one cell --------------------------------------------------------------------------------------


def is_empty(cell: object) -> bool:
    """Return whether a cell is empty. A name may be NA, but not empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def is_missing(cell: object) -> bool:
    """Return whether a cell has no value: it is empty, or a word such as NA."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def number_in(cell: object, *, words: bool = True, decimal: str = ".") -> float | None:
    """Return the number that a cell stands for, or None; `words` such as true are 1 and 0."""
    if isinstance(cell, str):
        text = cell.strip()
        if decimal == "," and DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        if NUMBER.fullmatch(text):
            return float(text)
        return WORDS.get(text.lower()) if words else None
    if isinstance(cell, bytes | bytearray):
        return None
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def finite_number(cell: object, decimal: str = ".") -> float:
    """Return one cell as a finite number, or raise InputError that says why not."""
    number = number_in(cell, words=False, decimal=decimal)
    if number is None or not math.isfinite(number):
        raise _refusal(cell, "a number" if is_missing(cell) else "a finite number")
    return number


def probability(cell: object, decimal: str = ".") -> float:
    """Return one cell as a number in [0, 1], or raise InputError that says why not."""
    number = number_in(cell, decimal=decimal)
    may_be_percent = number is not None and 1.0 < number <= 100.0
    return _unit_number(cell, number, f"; {PERCENTS}" if may_be_percent else "")


def outcome_in(cell: object, decimal: str = ".", positive: str | None = None) -> float:
    """Return one cell as an outcome in [0, 1], or raise InputError that says why not.

    With `positive`, a cell that holds this value is 1, and one that holds another is 0.
    """
    if positive is None:
        can_be_named = not is_missing(cell) and not isinstance(cell, dict | list)
        cure = "; for other values name the one that counts as 1 (--positive)"
        return _unit_number(cell, number_in(cell, decimal=decimal), cure if can_be_named else "")
    if is_same(cell, positive, decimal):
        return 1.0
    if is_missing(cell):
        raise _refusal(cell, f"{positive!r}, or another value")
    return 0.0


def is_same(cell: object, value: str, decimal: str = ".") -> bool:
    """Return whether a cell holds a value: the same text, or the same number."""
    if str(cell).strip() == value.strip():
        return True
    number = number_in(cell, decimal=decimal)
    return number is not None and number == number_in(value, decimal=decimal)


def _unit_number(cell: object, number: float | None, cure: str) -> float:
    """Return the number that a cell stands for if it is in [0, 1], or refuse the cell."""
    if number is None or not 0.0 <= number <= 1.0:  # also refuses NaN
        error = _refusal(cell, "a number in [0, 1], or true or false")
        error.problem += cure
        raise error
    return number


def _refusal(cell: object, allowed: str) -> InputError:
    """Return the error for a cell, with the cure where the cell shows it."""
    if is_missing(cell):
        written = f" ({cell.strip()!r})" if isinstance(cell, str) and cell.strip() else ""
        return InputError(f"the value is missing{written}; must be {allowed}", value=cell)
    cure = ""
    if isinstance(cell, str):
        text = cell.strip()
        if THOUSANDS.fullmatch(text) and number_in(cell) is None:
            cure = "; write numbers without marks between thousands"
        elif DECIMAL_COMMA.fullmatch(text):
            cure = "; decimal commas need columns separated by ';', a tab or '|'"
        elif text.endswith("%"):
            cure = "; write 0.25 for 25%"
    return InputError(f"got {_shown(cell)}, must be {allowed}{cure}", value=cell)


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        cell = float(cell)  # or NumPy would write its type
    return repr(cell) if isinstance(cell, str | float | int) else describe(cell)


# -- a column --------------------------------------------------------------------------------------


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
        numbers = self._all_at_once(cells, low, high, missing=missing)
        if numbers is None:
            # Some cell is a word, or must be named in an error.
            numbers = self._one_by_one(cells, number_of, missing=missing)
        return numbers

    def _all_at_once(
        self, cells: Sequence[Any], low: float, high: float, *, missing: bool
    ) -> Floats | None:
        """Return what `number_in` reads in these cells; None if any is no number in [low, high].

        Those that are missing, if some may be, are NaN.
        """
        types = set(map(type, cells))
        if [each for each in types if issubclass(each, bytes | bytearray)]:
            return None
        texts = cells if types == {str} else [cell for cell in cells if isinstance(cell, str)]
        text = "".join(texts)
        # What Python alone takes for a number: 0_1, and digits of other scripts.
        if "_" in text or not text.isascii() or (text and not self.text):
            return None
        has_commas = self.decimal == "," and "," in text
        if has_commas and "." in text:  # a column has either
            return None
        try:
            gone = {cell for cell in set(cells) if is_missing(cell)} if missing else set()
            known = [low if cell in gone else cell for cell in cells] if gone else cells
            if has_commas:
                known = [c.replace(",", ".") if isinstance(c, str) else c for c in known]
            numbers = np.fromiter(map(float, known), np.float64, len(known))
        except (TypeError, ValueError, OverflowError):  # lists of JSON cannot be in a set
            return None
        if not ((numbers >= low) & (numbers <= high)).all():  # not so for NaN
            return None
        if gone:
            numbers[[cell in gone for cell in cells]] = math.nan
        return numbers

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

    def _one_by_one(self, cells: Sequence[Any], number_of: NumberOf, *, missing: bool) -> Floats:
        if self.decimal == ",":
            self._check_decimals(cells)
        numbers = np.full(len(cells), math.nan)
        for row, cell in enumerate(cells):
            if missing and is_missing(cell):
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
        types = set(map(type, cells)) - {type(None)}
        found = dates_at_once(cells) if types <= {str} else None
        if found is None and types <= {str, int, float}:  # a truth value is no time
            most = sys.float_info.max
            numbers = self._all_at_once(cells, -most, most, missing=True)
            if numbers is not None:
                found = numbers, None if np.isnan(numbers).all() else "numbers"
        return Clock(self, *(found or self._ticks_one_by_one(cells)))

    def _ticks_one_by_one(self, cells: Sequence[Any]) -> tuple[Floats, Sort | None]:
        ticks = np.full(len(cells), math.nan)
        sort: Sort | None = None
        for row, cell in enumerate(cells):
            if is_missing(cell):
                continue
            try:
                ticks[row], found = read_tick(cell, self.decimal)
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
    """The readings of a clock, one per row.

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

    def check_order(
        self,
        *,
        available: Clock | None = None,
        due: Clock | None = None,
        predicted: npt.NDArray[np.bool_] | bool = True,
    ) -> None:
        """Refuse a clock that some row lacks, or that runs backwards, or that others cannot follow.

        An outcome cannot be known before its prediction is made; a deadline must be there where a
        row is `predicted`, and be later than that.
        """
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
        for other in (available, due):
            if other is not None and other.sort not in (None, self.sort):
                raise InputError(
                    f"column {other.cells.column!r} holds {other.sort} and column "
                    f"{self.cells.column!r} holds {self.sort}: the two cannot be compared",
                    source=self.cells.source,
                )
        if available is not None and (early := available.ticks < self.ticks).any():
            row = int(early.argmax())
            raise available.cells.refusal(
                row,
                f"the outcome is available at {available.shown(row)}, before its prediction at "
                f"{self.shown(row)}",
            )
        if due is not None and (wrong := ~(due.ticks > self.ticks) & predicted).any():
            row = int(wrong.argmax())
            if np.isnan(due.ticks[row]):
                raise due.cells.refusal(row, "the deadline is missing")
            raise due.cells.refusal(
                row,
                f"the deadline {due.shown(row)} is not later than the prediction at "
                f"{self.shown(row)}",
            )


def read_tick(cell: object, decimal: str = ".") -> tuple[float, Sort]:
    """Return one reading as a number, and what it is."""
    if isinstance(cell, str):
        number = number_in(cell, words=False, decimal=decimal)
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


def dates_at_once(cells: Sequence[str | None]) -> tuple[Floats, Sort | None] | None:
    """Return the seconds since 1970, NaN for a missing cell, and what the times are.

    None if not all cells are missing or times of one sort, written in a usual way.

    Examples
    --------
    >>> from calibrant.tables.cells import dates_at_once
    >>> dates_at_once(["1970-01-02", None, "1970-01-02 01:00"])
    (array([86400.,    nan, 90000.]), 'times without a zone')
    >>> dates_at_once(["1970-01-02", "a day later"])
    """
    sizes = np.array([len(cell or "") for cell in cells])
    ticks = np.full(len(cells), np.nan)
    sorts: set[Sort] = set()
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        alike = [cells[row] or "" for row in rows.tolist()]
        if size not in FORMS:
            if not all(map(is_missing, alike)):
                return None
            continue
        time, zone = FORMS[size]
        found = _of_one_form(alike, time, zone)
        if found is None:
            return None
        ticks[rows] = found
        sorts.add("times with a zone" if zone else "times without a zone")
    return (ticks, next(iter(sorts), None)) if len(sorts) <= 1 else None


def _of_one_form(cells: Sequence[str], time: str, zone: str) -> Floats | None:
    """Return the seconds since 1970 of cells that all have the length of one form."""
    text = "".join(cells)
    # The form of a zone is also that of others.
    if text.translate(AS_FORM) != (time + zone) * len(cells) or text.count(zone) < len(cells):
        return None
    unit, per_second = ("us", 1e6) if "." in time else ("s", 1.0)
    whole = np.frombuffer(text.encode(), f"S{len(time + zone)}")
    try:
        dates = whole.astype(f"S{len(time)}").astype(f"datetime64[{unit}]")
    except ValueError:  # no such day, hour or minute
        return None
    counts = dates.astype(np.int64)
    if (dates < FIRST).any() or (np.abs(counts) > EXACT).any():
        return None
    return counts / per_second
