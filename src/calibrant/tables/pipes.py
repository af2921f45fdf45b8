"""Rows from a pipe, each as soon as its line arrives."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from calibrant.tables.cells import probability
from calibrant.tables.delimited import header_of, refuse_row
from calibrant.tables.errors import InputError
from calibrant.tables.jsonlines import parse_object
from calibrant.tables.reading import decoded
from calibrant.tables.table import find_column, listed


def follow(
    lines: Iterable[bytes],
    *,
    outcome: str | None = None,
    announce: Callable[[str], object] | None = None,
    source: str = "standard input",
) -> Iterator[float]:
    r"""Yield the outcome of each line, before the next line is asked for.

    The first line decides what the lines are: JSON objects, bare values (a number in [0, 1], true
    or false), or CSV rows below a line of names. A row is one line. Blank lines count as nothing.

    Parameters
    ----------
    lines : iterable of bytes
        For instance ``sys.stdin.buffer``.
    outcome : str, optional
        The column of the outcome; guessed if not given.
    announce : callable, optional
        Called with a line for the user when the column was guessed.
    source : str
        What messages call the lines.

    Raises
    ------
    InputError
        At the first line that cannot be used; what came before has been yielded.

    Examples
    --------
    >>> from calibrant.tables import follow
    >>> list(follow([b"day,y\n", b"mon,1\n", b"tue,0\n"], announce=print))
    standard input: no outcome column was named, taking 'y'
    [1.0, 0.0]
    >>> list(follow([b"1\n", b"0\n"]))
    [1.0, 0.0]
    """
    name: str | None = None
    for line in follow_lines(lines, source):
        if name is None:
            name, note = find_column(line.names, "outcome", outcome, source)
            if note is not None and announce is not None and not line.is_bare:
                announce(note)
        if line.cells is None:
            continue
        try:
            value = probability(line.cells.get(name))
        except InputError as error:
            raise error.at(source=source, row=line.number, column=name) from None
        yield value


class Line(NamedTuple):
    """One line that is not blank."""

    number: int
    names: list[str]  # the columns there are; of a JSON object, its own keys
    cells: Mapping[str, object] | None  # None for a line of names
    is_bare: bool = False  # a single value, without a name


def follow_lines(
    lines: Iterable[bytes],
    source: str,
    skip: Callable[[int, InputError], object] | None = None,
) -> Iterator[Line]:
    """Yield each line that `follow` reads as a row, before the next line is asked for.

    A row that cannot be read ends it, or is given to `skip` with its number and passed over.
    """
    names: list[str] | None = None
    are_objects = is_bare = rows = False
    for number, raw in enumerate(lines, 1):
        try:
            line = decoded(raw, source, number)
            if not line.strip():
                continue
            if names is None:
                are_objects = line.lstrip().startswith("{")
                if not are_objects:
                    names = header_of(_split(line, source, number), source, number)
                    is_bare = names is None
                if names is not None:
                    yield Line(number, names, None)
                    continue
                names = ["outcome"]
            rows = True
            if are_objects:
                cells = parse_object(line, source, number)
                row = Line(number, list(cells), cells)
            elif is_bare:
                row = Line(number, names, {"outcome": line.strip()}, is_bare=True)
            else:
                row = _row(line, names, source, number)
        except InputError as error:
            if skip is None or names is None:
                raise
            skip(number, error)
        else:
            yield row
    if names is None:
        raise InputError("there were no lines", source=source)
    if not rows:
        raise InputError(f"there are no rows below the columns {listed(names)}", source=source)


def _row(line: str, names: list[str], source: str, number: int) -> Line:
    row = _split(line, source, number)
    if len(row) != len(names):
        refuse_row(row, names, source, number)
    return Line(number, names, dict(zip(names, row, strict=True)))


def _split(line: str, source: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(f"is not a CSV row: {error}", source=source, row=number) from None
