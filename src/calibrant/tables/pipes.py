"""Rows from a pipe, each as soon as its line arrives."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from calibrant.tables.cells import outcome_in
from calibrant.tables.delimited import (
    DECLARATION,
    check_delimiter,
    find_delimiter,
    header_of,
    refuse_row,
)
from calibrant.tables.errors import InputError, listed
from calibrant.tables.json_rows import parse_object
from calibrant.tables.reading import decoded
from calibrant.tables.table import Table


def follow(
    lines: Iterable[bytes],
    *,
    outcome: str | None = None,
    positive: str | None = None,
    delimiter: str | None = None,
    announce: Callable[[str], object] | None = None,
    source: str = "standard input",
) -> Iterator[float]:
    r"""Yield the outcome of each line, before the next line is asked for.

    The first line decides what the lines are: JSON objects, bare values (a number in [0, 1], true
    or false), or CSV rows below a line of names, which also shows what separates the columns. A
    row is one line. Blank lines count as nothing.

    Parameters
    ----------
    lines : iterable of bytes
        For instance ``sys.stdin.buffer``.
    outcome : str, optional
        The column of the outcome; guessed if not given.
    positive : str, optional
        The value of an outcome that counts as 1; every other is then 0.
    delimiter : str, optional
        What separates the columns, if the first line does not show it.
    announce : callable, optional
        Called with a line for the user when something was guessed.
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
    for line in follow_lines(lines, source, delimiter):
        if name is None:
            header = line.header(source)
            name, note = (outcome, None) if outcome is not None else header.guess("outcome")
            header.cells(name)
            if announce is not None and not line.is_bare:
                for each in filter(None, (header.note, note)):
                    announce(each)
        if line.cells is None:
            continue
        try:
            value = outcome_in(line.cells.get(name), line.decimal, positive)
        except InputError as error:
            raise error.at(source=source, row=line.number, column=name) from None
        yield value


class Line(NamedTuple):
    """One line that is not blank."""

    number: int
    names: list[str]  # the columns there are; of a JSON object, its own keys
    cells: Mapping[str, object] | None  # None for a line of names
    delimiter: str | None = None  # what separates the columns of CSV
    is_bare: bool = False  # a single value, without a name

    @property
    def decimal(self) -> str:
        """What numbers may have before their decimals: a comma only where it separates nothing."""
        return "." if self.delimiter in (None, ",") else ","

    def header(self, source: str) -> Table:
        """Return the columns there are, as a table without rows."""
        return Table(source, dict.fromkeys(self.names, ()), delimiter=self.delimiter)


def follow_lines(
    lines: Iterable[bytes],
    source: str,
    delimiter: str | None = None,
    skip: Callable[[int, InputError], object] | None = None,
) -> Iterator[Line]:
    """Yield each line that `follow` reads as a row, before the next line is asked for.

    A row that cannot be read ends it, or is given to `skip` with its number and passed over.
    """
    if delimiter is not None:
        delimiter = check_delimiter(delimiter)
    names: list[str] | None = None
    are_objects = is_bare = rows = False
    for number, raw in enumerate(lines, 1):
        try:
            line = _decoded(raw, source, number)
            if not line.strip():
                continue
            if names is None:
                if declared := DECLARATION.fullmatch(line):
                    delimiter = delimiter or declared[1]
                    continue
                are_objects = line.lstrip().startswith("{")
                if not are_objects:
                    delimiter = delimiter or find_delimiter(line, source, number)
                    names = header_of(_split(line, delimiter, source, number), source, number)
                    is_bare = names is None
                if names is not None:
                    yield Line(number, names, None, delimiter)
                    continue
                names = ["outcome"]
            rows = True
            if are_objects:
                cells = parse_object(line, source, number)
                row = Line(number, list(cells), cells)
            elif is_bare:
                row = Line(number, names, {"outcome": line.strip()}, is_bare=True)
            else:
                row = _row(line, names, delimiter or ",", source, number)
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


def _decoded(raw: bytes, source: str, number: int) -> str:
    """Return a line as text; refuse what cannot be read line by line."""
    if number == 1:
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(
                "UTF-16 cannot be read line by line; put iconv -f UTF-16 -t UTF-8 before",
                source=source,
            )
        if raw.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
            raise InputError(
                "a JSON array cannot be read line by line; write one object per line, "
                "or read it from a file",
                source=source,
            )
    return decoded(raw, source, number)


def _row(line: str, names: list[str], delimiter: str, source: str, number: int) -> Line:
    row = _split(line, delimiter, source, number)
    if len(row) != len(names):
        refuse_row(row, names, delimiter, source, number)
    return Line(number, names, dict(zip(names, row, strict=True)), delimiter)


def _split(line: str, delimiter: str, source: str, number: int) -> list[str]:
    csv.field_size_limit(max(csv.field_size_limit(), len(line)))
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"is not a CSV row: {error}", source=source, row=number) from None
