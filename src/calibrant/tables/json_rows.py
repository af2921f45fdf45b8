"""JSON: an object per line, where blank lines count as nothing, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from calibrant._checks import describe
from calibrant.tables.errors import InputError
from calibrant.tables.table import Table

WANTED = "write one object per line, or one array of objects (in pandas: orient='records')"


def parse_json(text: str, source: str) -> Table:
    """Return the rows of JSON Lines or of an array; a key that a row lacks is None there."""
    if text.lstrip().startswith("["):
        rows = parse_array(text, source)
        return Table(source, columns_of(rows))
    # Not splitlines: it also splits where JSON allows a character inside a string.
    whole = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not whole:
        raise InputError("the file is empty", source=source)
    rows = []
    for number, line in whole:
        try:
            rows.append(parse_object(line, source, number))
        except InputError as error:
            if not rows:  # perhaps an object over several lines
                error.problem += f"; {WANTED}"
            raise
    if len(rows) == 1 and rows[0] and all(isinstance(c, list | dict) for c in rows[0].values()):
        raise InputError(f"is one object with whole columns inside; {WANTED}", source=source)
    return Table(source, columns_of(rows), [number for number, _ in whole])


def parse_array(text: str, source: str) -> Sequence[dict[str, Any]]:
    """Return the objects of an array."""
    try:
        rows = DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        told = isinstance(error, InputError)
        problem = str(error) if told else f"is not a whole JSON array ({error})"
        raise InputError(problem, source=source) from None
    if not rows:
        raise InputError("the array is empty", source=source)
    for at, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(
                f"must be a JSON object, got {describe(row)}; {WANTED}",
                source=source,
                row=at,
                unit="row",
                value=row,
            )
    return rows  # type: ignore[no-any-return]


def columns_of(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the cells of each key, in the order in which the keys come."""
    columns: dict[str, list[Any]] = {}
    for at, row in enumerate(rows):
        for name in row:
            if name not in columns:
                columns[name] = [None] * at
        for name, cells in columns.items():
            cells.append(row.get(name))
    return columns


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
        raise InputError(f"duplicate key {twice!r}")
    return row


def _constant(name: str) -> float | None:
    # NaN is how Python writes a missing number; an infinity is refused where it is used.
    return None if name == "NaN" else float(name)


# Made once: json.loads would make one per line.
DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
