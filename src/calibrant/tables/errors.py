"""The one error of tables: what is wrong, and in which file, row and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class InputError(ValueError):
    """A file or a row that cannot be used; the message names the place and what is allowed.

    It is raised with what is known at that point; `at` adds what only a caller knows.

    Parameters
    ----------
    problem : str
        What is wrong, and what is allowed.
    source : str, optional
        The file, as the user named it.
    row : int, optional
        Which row.
    unit : {"line", "row", "position"}
        What `row` counts: lines of a text file or rows of a table, both from 1, or positions in a
        column, from 0.
    column : str, optional
        The column.
    value : object, optional
        The value that cannot be used.

    Examples
    --------
    >>> from calibrant.tables import InputError
    >>> error = InputError("must be in [0, 1]", row=1, unit="position", column="y")
    >>> print(error)
    position 1, column 'y': must be in [0, 1]
    >>> print(error.at(source="a.csv", row=3, unit="line"))
    a.csv, line 3, column 'y': must be in [0, 1]
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        row: int | None = None,
        unit: str = "line",
        column: str | None = None,
        value: object = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.value = problem, value
        self.source, self.row, self.unit, self.column = source, row, unit, column

    def __str__(self) -> str:
        place = [] if self.source is None else [self.source]
        if self.row is not None:
            place.append(f"{self.unit} {self.row}")
        if self.column is not None:
            place.append(f"column {self.column!r}")
        return f"{', '.join(place)}: {self.problem}" if place else self.problem

    def at(
        self,
        *,
        source: str | None = None,
        row: int | None = None,
        unit: str = "line",
        column: str | None = None,
    ) -> Self:
        """Add where the problem is and return the error; a row replaces a position."""
        self.source = source if self.source is None else self.source
        self.column = column if self.column is None else self.column
        if row is not None:
            self.row, self.unit = row, unit
        return self


def listed(names: Sequence[str]) -> str:
    """Return names as an error message lists them."""
    shown = ", ".join(map(repr, names[:20]))
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


def shown(delimiter: str) -> str:
    """Return a delimiter as a sentence names it."""
    return {"\t": "a tab", " ": "a space"}.get(delimiter, repr(delimiter))
