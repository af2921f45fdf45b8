"""What is said when a row cannot be used."""

from __future__ import annotations


class RowError(ValueError):
    """A row of a table that cannot be used.

    Parameters
    ----------
    problem : str
        What is wrong, and what is allowed.
    column : str
        The column.
    row : int
        Its position, counted from 0.
    first : int, optional
        The position of the row that it repeats.

    Examples
    --------
    >>> from calibrant.recalibrate import RowError
    >>> print(RowError("runs backwards: 3 comes after 5", column="t", row=7))
    column 't', position 7: runs backwards: 3 comes after 5
    """

    def __init__(self, problem: str, *, column: str, row: int, first: int | None = None) -> None:
        again = "" if first is None else f" (first at position {first})"
        super().__init__(f"column {column!r}, position {row}: {problem}{again}")
        self.problem, self.column, self.row, self.first = problem, column, row, first
