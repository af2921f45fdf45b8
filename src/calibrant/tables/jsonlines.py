"""JSON Lines: an object a line; blank lines count as nothing."""

from __future__ import annotations

import json
from typing import Any

from calibrant._checks import describe
from calibrant.tables.errors import InputError
from calibrant.tables.table import Table, listed


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
        raise InputError(
            f"is not a whole JSON value ({error})", source=source, row=number, value=line
        ) from None
    except _RepeatedKeyError as error:
        raise InputError(
            f"every key must come once, but {listed([error.key])} comes again",
            source=source,
            row=number,
            value=line,
        ) from None
    if not isinstance(row, dict):
        raise InputError(
            f"must be a JSON object, got {describe(row)}", source=source, row=number, value=row
        )
    return row


class _RepeatedKeyError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return row


# Made once: json.loads would make one a line.
DECODER = json.JSONDecoder(object_pairs_hook=_unique)
