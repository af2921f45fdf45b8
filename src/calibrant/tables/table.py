"""Rows in memory: the columns as they were read, and which of them is meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_choice
from calibrant.tables.cells import Cells
from calibrant.tables.errors import InputError, listed, shown

if TYPE_CHECKING:
    from calibrant.tables.cells import Raw

#: What columns are usually called, by the part they play. The part's own name wins.
USUAL_NAMES = {
    "outcome": re.compile("outcomes?|y|y_true|label|target|event|observed|actual|happened"),
    "prediction": re.compile(
        "predictions?|pred|p|p_hat|prob|probability|forecast|score|y_prob|y_score"
    ),
}


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
    delimiter : str or None
        What separates the columns in a CSV file.
    decimal : {".", ","}
        What its numbers have before their decimals.

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
    columns: Mapping[str, Raw]
    lines: Sequence[int] | None = None
    delimiter: str | None = None
    decimal: str = "."

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"Table({self.source}, {len(self)} rows: {', '.join(map(repr, self.columns))})"

    @property
    def note(self) -> str | None:
        """A line for the user about how a CSV file is written, if not in the usual way."""
        if self.delimiter in (None, ","):
            return None
        commas = ", numbers have decimal commas" if self.decimal == "," else ""
        return f"{self.source}: columns are separated by {shown(self.delimiter)}{commas}"

    def take(
        self,
        part: str,
        name: str | None = None,
        *,
        positive: str | None = None,
        missing: bool = False,
    ) -> Column:
        """Return the column that plays a part, as probabilities.

        Parameters
        ----------
        part : {"outcome", "prediction"}
            What the column is for.
        name : str, optional
            Its name; guessed if not given, and then `note` says what was taken.
        positive : str, optional
            The value of an outcome that counts as 1; every other is then 0.
        missing : bool
            Whether values may be missing, as NaN.

        Raises
        ------
        InputError
            When there is no such column, or several may be meant, or a cell is no number in
            [0, 1]: the message names the row, the column and the value.
        """
        check_choice("part", part, tuple(USUAL_NAMES))
        name, note = (name, None) if name is not None else self.guess(part)
        cells = self.cells(name)
        if part == "outcome":
            return Column(name, cells.outcomes(positive=positive, missing=missing), note)
        return Column(name, cells.probabilities(missing=missing), note)

    def guess(self, part: str) -> tuple[str, str | None]:
        """Return the column with a usual name of its part, and a line for the user."""
        names = list(self.columns)
        found = [each for each in names if USUAL_NAMES[part].fullmatch(each.strip().lower())]
        own = [each for each in found if each.strip().lower() == part]
        if len(own) == 1:
            found = own
        elif part == "outcome" and not found and len(names) == 1:
            found = names
        if len(found) == 1:
            return found[0], f"{self.source}: no {part} column was named, taking {found[0]!r}"
        if found:
            problem = f"the {part} column may be {listed(found)}: choose one (--{part})"
        else:
            problem = f"no column is named like the {part}: choose one (--{part}); {self._there}"
        raise InputError(problem, source=self.source)

    @property
    def _there(self) -> str:
        """The names of the columns, for messages about one that is missing."""
        names = list(self.columns)
        if len(names) == 1:
            marks = "" if self.delimiter is None else f", separated by {shown(self.delimiter)}"
            return f"the only column is {names[0]!r}{marks}"
        return f"the columns are {listed(names)}"

    def cells(self, name: str, *, text: bool = True) -> Cells:
        """Return the cells of a column, to be read as numbers, values or a clock."""
        if name not in self.columns:
            raise InputError(f"there is no column {name!r}; {self._there}", source=self.source)
        return Cells(name, self.columns[name], text, self.source, self.row_name, self.decimal)

    def row_name(self, position: int) -> tuple[str, int]:
        """Return what a row is called: a line of its file, or a row counted from 1."""
        return ("row", position + 1) if self.lines is None else ("line", self.lines[position])

    def row_called(self, position: int) -> str:
        """Return the name of a row as a sentence says it."""
        return "{} {}".format(*self.row_name(position))

    def at(self, rows: npt.NDArray[np.int64]) -> Table:
        """Return the table with these rows, in this order.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.tables import Table
        >>> Table("memory", {"y": ["1", "0", "0"]}).at(np.array([2, 0])).columns
        {'y': ['0', '1']}
        """
        numbers = rows.tolist()
        columns: dict[str, Raw] = {
            name: [raw[row] for row in numbers] if isinstance(raw, Sequence) else raw[numbers]
            for name, raw in self.columns.items()
        }
        lines = None if self.lines is None else [self.lines[row] for row in numbers]
        return replace(self, columns=columns, lines=lines)

    def with_column(self, name: str, values: npt.ArrayLike) -> Table:
        """Return the table with one more column of numbers at its end; whole ones stay whole."""
        return self.with_columns({name: values})

    def with_columns(self, new: Mapping[str, npt.ArrayLike]) -> Table:
        """Return the table with more columns of numbers, by their names."""
        columns = dict(self.columns)
        for name, values in new.items():
            series = as_series(values, "values")
            if name in columns:
                raise ValueError(f"name must be new, but {self.source} has a column {name!r}")
            if len(series) != len(self):
                raise ValueError(f"values must be one per row ({len(self)}), got {len(series)}")
            columns[name] = series.astype(np.int64 if series.dtype.kind in "iu" else np.float64)
        return replace(self, columns=columns)


def check_names(names: Sequence[str], source: str, row: int | None = None) -> None:
    """Refuse two columns of the same name, which would be ambiguous."""
    twice = sorted([name for name, count in Counter(names).items() if count > 1])
    if twice:
        raise InputError(
            f"column names must be unique, but {listed(twice)} "
            f"{'occurs' if len(twice) == 1 else 'occur'} more than once",
            source=source,
            row=row,
        )
