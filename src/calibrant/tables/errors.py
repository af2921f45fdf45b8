"""What is said when a file cannot be used."""

from __future__ import annotations


class InputError(ValueError):
    """A file, or a row of it, that cannot be used; the message says where, what and what may be.

    Parameters
    ----------
    problem : str
        What is wrong, and what is allowed.
    source : str, optional
        The file, as the user named it.
    row : int, optional
        The line of a text file or the row of a table, counted from 1.
    unit : {"line", "row"}
        What `row` counts.
    column : str, optional
        The column.
    value : object, optional
        The value that cannot be used.

    Examples
    --------
    >>> from calibrant.tables import InputError
    >>> print(InputError("must be in [0, 1]", source="a.csv", row=3, column="y"))
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
        where = [source] if source is not None else []
        if row is not None:
            where.append(f"{unit} {row}")
        if column is not None:
            where.append(f"column {column!r}")
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)
        self.source, self.row, self.column, self.value = source, row, column, value
