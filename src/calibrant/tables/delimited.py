"""CSV: a line of names, then a line a row; blank lines count as nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NoReturn

from calibrant.tables.cells import number_in
from calibrant.tables.errors import InputError
from calibrant.tables.table import Table, check_names, listed


def parse_csv(text: str, source: str) -> Table:
    """Return the rows of a CSV text, every cell as it stands there."""
    # strict: an open quote at the end of a file that was cut is an error, not a value.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] | None = None
    columns: list[list[str]] = []
    lines: list[int] = []
    end = 0
    try:
        for row in reader:
            # A quoted cell may span lines: a row is named after the first of its own.
            line, end = end + 1, reader.line_num
            if len(row) <= 1 and _is_blank(row):
                continue
            if names is None:
                header = header_of(row, source, line)
                names = header or ["outcome"]
                columns = [[] for _ in names]
                if header is not None:
                    continue
            if len(row) != len(names):
                last = end == sum(1 for _ in io.StringIO(text, newline=""))
                refuse_row(row, names, source, line, last=last)
            lines.append(line)
            for cells, cell in zip(columns, row, strict=True):
                cells.append(cell)
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", source=source, row=end + 1) from None
    if names is None:
        raise InputError("the file is empty", source=source)
    if not lines:
        raise InputError(f"there are no rows below the columns {listed(names)}", source=source)
    return Table(source, dict(zip(names, columns, strict=True)), lines)


def header_of(cells: Sequence[str], source: str, line: int) -> list[str] | None:
    """Return the names of the columns, or None for a first line that is a bare value."""
    if None not in map(number_in, cells):
        if len(cells) == 1:
            return None
        raise InputError(
            f"must hold the names of the columns, got {', '.join(cells)}", source=source, row=line
        )
    names = [cell.strip() for cell in cells]
    check_names(names, source, line)
    return names


def refuse_row(
    row: Sequence[str], names: Sequence[str], source: str, line: int, *, last: bool = False
) -> NoReturn:
    """Say that a row has a cell too many or too few."""
    cut = "; is the file cut short?" if last and len(row) < len(names) else ""
    raise InputError(
        f"has {len(row)} {'field' if len(row) == 1 else 'fields'}, must have {len(names)} "
        f"({listed(names)}){cut}",
        source=source,
        row=line,
        value=list(row),
    )


def _is_blank(row: Sequence[str]) -> bool:
    # A quoted nothing ("") is a cell without a value; white space alone is a blank line.
    return not row or (row[0] != "" and not row[0].strip())
