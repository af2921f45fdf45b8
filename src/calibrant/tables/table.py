"""A file in memory: its columns as they were read, and those that are probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_choice
from calibrant.tables.cells import BadCellError, probabilities
from calibrant.tables.columns import USUAL_NAMES, find_column
from calibrant.tables.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

    Cells = Sequence[Any] | Floats | nw.Series[Any]


def plain(column: Cells) -> Sequence[Any] | Floats:
    """Return a column as something to loop over."""
    if isinstance(column, Sequence | np.ndarray):
        return column
    if column.dtype.is_numeric() and not column.null_count():
        floats: Floats = column.to_numpy().astype(np.float64)
        return floats
    # Every library has a missing value of its own; here it is None.
    return [None if gone else cell for cell, gone in zip(column, column.is_null(), strict=True)]


@dataclass(frozen=True, eq=False)
class Column:
    """A column of probabilities.

    Attributes
    ----------
    name : str
        What it is called in the file.
    values : array of float
        Its numbers, all in [0, 1].
    note : str or None
        A line for the user when the column was guessed.

    Examples
    --------
    >>> from calibrant.tables import Table
    >>> Table("memory", {"y": ["1", "false"]}).take("outcome")
    Column(name='y', values=array([1., 0.]), note="memory: no outcome column was named, taking 'y'")
    """

    name: str
    values: Floats
    note: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows that were read, column by column.

    Attributes
    ----------
    source : str
        Where they come from, as messages say it.
    columns : mapping of str to cells
        Every column in its order, as it was read: text from CSV, values from JSON, typed series
        from data frames and Parquet.
    lines : sequence of int or None
        The line of each row, where rows have lines.

    Examples
    --------
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"day": ["mon", "tue"], "y": ["1", "0"]})
    >>> table
    Table(memory, 2 rows: 'day', 'y')
    >>> table.take("outcome").values
    array([1., 0.])
    >>> table.with_column("prediction", [0.5, 0.75]).take("prediction").values
    array([0.5 , 0.75])
    """

    source: str
    columns: Mapping[str, Cells]
    lines: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"Table({self.source}, {len(self)} rows: {', '.join(map(repr, self.columns))})"

    def take(self, part: str, name: str | None = None) -> Column:
        """Return the column that plays a part, as probabilities.

        Parameters
        ----------
        part : {"outcome", "prediction"}
            What the column is for.
        name : str, optional
            Its name; guessed if not given, and then `note` says what was taken.

        Raises
        ------
        InputError
            When there is no such column, or several may be meant, or a cell is no number in
            [0, 1]: the message names the row, the column and the value.
        """
        check_choice("part", part, tuple(USUAL_NAMES))
        name, note = find_column(list(self.columns), part, name, self.source)
        try:
            return Column(name, probabilities(plain(self.columns[name])), note)
        except BadCellError as error:
            raise self.refusal(str(error), error.place, name, error.value) from None

    def refusal(self, problem: str, place: int, column: str, value: object = None) -> InputError:
        """Return the error that refuses a cell, named as the user would find it.

        Parameters
        ----------
        problem : str
            What is wrong, and what is allowed.
        place : int
            Which row, counted from 0.
        column : str
            Which column.
        value : object
            What the cell holds.
        """
        unit, number = self.row_name(place)
        return InputError(
            problem, source=self.source, row=number, unit=unit, column=column, value=value
        )

    def row_name(self, place: int) -> tuple[str, int]:
        """Return what a row is called: a line of its file, or a row counted from 1."""
        return ("row", place + 1) if self.lines is None else ("line", self.lines[place])

    def with_column(self, name: str, values: npt.ArrayLike) -> Table:
        """Return the table with one more column of numbers at its end."""
        series = as_series(values, "values").astype(np.float64)
        if name in self.columns:
            raise ValueError(f"name must be new, but {self.source} has a column {name!r}")
        if len(series) != len(self):
            raise ValueError(f"values must be one a row ({len(self)}), got {len(series)}")
        return replace(self, columns={**self.columns, name: series})
