"""What separates the columns of a CSV text: found from its first line, or said."""

from __future__ import annotations

import csv
import io
import re
from itertools import islice

from calibrant.tables.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
#: A first line with which a spreadsheet says what separates the columns.
DECLARATION = re.compile(r"sep=([^\w\s]|\t)\s*?(\r\n|\r|\n|\Z)", re.IGNORECASE)
#: How many rows are looked at where the first line leaves a choice.
ROWS = 50


def check_delimiter(value: object) -> str:
    """Return what separates columns, one character; ``tab`` stands for itself."""
    if value in ("tab", "\\t"):
        return "\t"
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in '"\r\n.+-_':
        raise ValueError(f"delimiter must be one character such as ; or | or tab, got {value!r}")
    return value


def shown(delimiter: str) -> str:
    """Return a delimiter as a sentence names it."""
    return {"\t": "a tab", " ": "a space"}.get(delimiter, repr(delimiter))


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
