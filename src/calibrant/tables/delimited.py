"""CSV: a line of names, then a line a row; blank lines count as nothing.

What separates the columns is found from the first line, unless it is given.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import NoReturn

from calibrant.tables.cells import DECIMAL_COMMA, NUMBER
from calibrant.tables.errors import InputError, listed, shown
from calibrant.tables.table import Table, check_names

DELIMITERS = (",", ";", "\t", "|")
#: A first line with which a spreadsheet says what separates the columns.
DECLARATION = re.compile(r"sep=([^\w\s]|\t)\s*?(\r\n|\r|\n|\Z)", re.IGNORECASE)
#: How many rows are looked at where the first line leaves a choice.
ROWS = 50
#: Words that are no name of a column: a first line that holds one is a value.
VALUES = ("true", "false", "yes", "no")


class NoRowsError(InputError):
    """A file of which all is there but rows."""


def parse_csv(text: str, source: str, delimiter: str | None = None) -> Table:
    """Return the rows of a CSV text, every cell as it is written."""
    end = 0
    if declared := DECLARATION.match(text):
        text, end = text[declared.end() :], 1
        delimiter = delimiter or declared[1]
    delimiter = delimiter or find_delimiter(text, source, end + 1)
    names: list[str] | None = None
    columns: list[list[str]] = []
    lines: list[int] = []
    before = end
    # Let cells be this long; the limit is shared, so it only ever grows.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    # strict: an open quote at the end of a file that was cut is an error, not a value.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            # A quoted cell may span lines: a row is named after the first of its own.
            line, end = end + 1, before + reader.line_num
            if len(row) <= 1 and _is_blank(row):
                continue
            if names is None:
                header = header_of(row, source, line)
                names = header or ["outcome"]
                columns = [[] for _ in names]
                if header is not None:
                    continue
            if len(row) != len(names):
                last = end - before == sum(1 for _ in io.StringIO(text, newline=""))
                refuse_row(row, names, delimiter, source, line, last=last)
            lines.append(line)
            for cells, cell in zip(columns, row, strict=True):
                cells.append(cell)
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", source=source, row=end + 1) from None
    if names is None:
        raise InputError("the file is empty", source=source)
    if not lines:
        raise NoRowsError(f"there are no rows below the columns {listed(names)}", source=source)
    decimal = "," if delimiter != "," and "," in text and _have_commas(columns) else "."
    return Table(source, dict(zip(names, columns, strict=True)), lines, delimiter, decimal)


def header_of(cells: Sequence[str], source: str, line: int) -> list[str] | None:
    """Return the names of the columns, or None for a first line that is a bare value."""
    names = [cell.strip() for cell in cells]
    values = [name for name in names if NUMBER.fullmatch(name) or name.lower() in VALUES]
    if len(values) == len(names):
        if len(cells) == 1:
            return None
        raise InputError(
            f"must hold the names of the columns, got {', '.join(cells)}; add a line of names",
            source=source,
            row=line,
        )
    check_names(names, source, line)
    return names


def refuse_row(
    row: Sequence[str],
    names: Sequence[str],
    delimiter: str,
    source: str,
    line: int,
    *,
    last: bool = False,
) -> NoReturn:
    """Say that a row has a cell too many or too few."""
    cure = ""
    if names[0].startswith("#"):
        cure = "; remove the lines that begin with '#'"
    elif last and len(row) < len(names):
        cure = "; is the file cut short?"
    elif len(names) == 1 and delimiter == ",":
        cure = "; for decimal commas say --delimiter ';'"
    raise InputError(
        f"has {len(row)} {'field' if len(row) == 1 else 'fields'}, must have {len(names)} "
        f"({listed(names)}), separated by {shown(delimiter)}{cure}",
        source=source,
        row=line,
        value=list(row),
    )


def _is_blank(row: Sequence[str]) -> bool:
    # A quoted nothing ("") is a cell without a value; white space alone is a blank line.
    return not row or (row[0] != "" and not row[0].strip())


def _have_commas(columns: Sequence[Sequence[str]]) -> bool:
    return any(DECIMAL_COMMA.fullmatch(cell.strip()) for cells in columns for cell in cells)


def check_delimiter(value: object) -> str:
    """Return what separates columns, one character; ``tab`` stands for itself."""
    if value in ("tab", "\\t"):
        return "\t"
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in '"\r\n.+-_':
        raise ValueError(f"delimiter must be one character such as ; or | or tab, got {value!r}")
    return value


def find_delimiter(text: str, source: str, line: int = 1) -> str:
    """Return what separates the columns, or raise InputError if it may be either of two.

    The first line that is not blank decides, and the rows below where it holds several of
    `DELIMITERS`: the right one splits them all into the same number of columns.
    """
    head = next(filter(str.strip, io.StringIO(text)), "")
    possible = [each for each in DELIMITERS if each in head]
    if len(possible) > 1:
        fields = {each: _fields(text, each) for each in possible}
        even = [each for each in possible if min(fields[each]) == max(fields[each]) > 1]
        # A damaged row fits none: it is then named by the reader, split at what fits best.
        best = max(counts[0] for counts in fields.values())
        possible = even or [each for each in possible if fields[each][0] == best]
    if len(possible) > 1:
        choice = " or by ".join(map(shown, possible))
        raise InputError(
            f"the columns may be separated by {choice}: say which (--delimiter)",
            source=source,
            row=line,
        )
    return possible[0] if possible else ","


def _fields(text: str, delimiter: str) -> list[int]:
    """Return the number of fields of the first rows; 0 for what is not CSV with this delimiter."""
    counts: list[int] = []
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        counts += (len(row) for row in islice((row for row in rows if row), ROWS + 1))
    except csv.Error:
        counts.append(0)
    return counts or [0]
