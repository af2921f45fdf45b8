"""CSV: a line of names, then a line a row; blank lines count as nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from calibrant.streams.cells import is_value
from calibrant.streams.columns import check_names, listed
from calibrant.streams.errors import InputError
from calibrant.streams.table import Table


def parse_csv(text: str, source: str) -> Table:
    """Return the rows of a CSV text, every cell as it stands there."""
    # strict: an open quote at the end of a file that was cut is an error, not a value.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", source=source, row=reader.line_num) from None
    lines: Sequence[int] = range(1, len(rows) + 1)
    if reader.line_num != len(rows):  # some quoted cell spans lines
        lines = _first_lines(text)
    if set(map(len, rows)) & {0, 1}:
        kept = [i for i, row in enumerate(rows) if not _is_blank(row)]
        if len(kept) < len(rows):
            rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
    if not rows:
        raise InputError("the file is empty", source=source)

    names = header_of(rows[0], source, lines[0])
    if names is None:
        names = ["outcome"]
    else:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise InputError(f"there are no rows below the columns {listed(names)}", source=source)
    if set(map(len, rows)) != {len(names)}:
        for i, row in enumerate(rows):
            check_fields(row, names, source, lines[i], last=i == len(rows) - 1)
    return Table(source, dict(zip(names, zip(*rows, strict=True), strict=True)), lines)


def header_of(cells: Sequence[str], source: str, line: int) -> list[str] | None:
    """Return the names of the columns, or None for a first line that is a bare value."""
    if all(map(is_value, cells)):
        if len(cells) == 1:
            return None
        raise InputError(
            f"must hold the names of the columns, got {', '.join(cells)}", source=source, row=line
        )
    names = [cell.strip() for cell in cells]
    check_names(names, source, line)
    return names


def check_fields(
    row: Sequence[str], names: Sequence[str], source: str, line: int, *, last: bool = False
) -> None:
    """Refuse a row with a cell too many or too few."""
    if len(row) != len(names):
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
    return not row or (len(row) == 1 and row[0] != "" and not row[0].strip())


def _first_lines(text: str) -> list[int]:
    """Return the line on which each row starts."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    first, end = [], 0
    for _ in reader:
        first.append(end + 1)
        end = reader.line_num
    return first
