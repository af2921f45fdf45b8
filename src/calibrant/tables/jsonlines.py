"""JSON Lines: an object a line; blank lines count as nothing."""

from __future__ import annotations

import json
from typing import Any

from calibrant._checks import describe
from calibrant.tables.errors import InputError
from calibrant.tables.table import Table


def parse_jsonl(text: str, source: str) -> Table:
    """Return the rows of a JSON Lines text; a key that a row lacks is None there."""
    # Not splitlines: it also splits where JSON allows a character inside a string.
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = parse_object(line, source, number)
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, cells in columns.items():
            cells.append(row.get(name))
        lines.append(number)
    if not lines:
        raise InputError("the file is empty", source=source)
    return Table(source, columns, lines)


def parse_object(line: str, source: str, number: int) -> dict[str, Any]:
    """Return the object on one line."""
    try:
        row = DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        told = isinstance(error, InputError)
        problem = str(error) if told else f"is not a whole JSON value ({error})"
        raise InputError(problem, source=source, row=number, value=line) from None
    if not isinstance(row, dict):
        raise InputError(
            f"must be a JSON object, got {describe(row)}", source=source, row=number, value=row
        )
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"every key must come once, but {twice!r} comes again")
    return row


# Made once: json.loads would make one a line.
DECODER = json.JSONDecoder(object_pairs_hook=_unique)
