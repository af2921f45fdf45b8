"""Outcomes from a pipe, each as soon as its line arrives."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from calibrant.streams.cells import probability
from calibrant.streams.columns import find_column, listed
from calibrant.streams.delimited import header_of, refuse_row
from calibrant.streams.errors import InputError
from calibrant.streams.jsonlines import parse_object
from calibrant.streams.text import decoded

# From a line and its number to the cell that holds the outcome.
Reader = Callable[[str, int], object]


def follow(
    lines: Iterable[bytes],
    *,
    outcome: str | None = None,
    announce: Callable[[str], object] | None = None,
    source: str = "standard input",
) -> Iterator[float]:
    r"""Yield the outcome of each line, before the next line is asked for.

    The first line tells what the lines are: JSON objects, bare values (a number in [0, 1], true
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
    >>> from calibrant.streams import follow
    >>> list(follow([b"day,y\n", b"mon,1\n", b"tue,0\n"], announce=print))
    standard input: no outcome column was named, taking 'y'
    [1.0, 0.0]
    >>> list(follow([b"1\n", b"0\n"]))
    [1.0, 0.0]
    """
    cell_of: Reader | None = None
    name, yielded = "outcome", False
    for number, raw in enumerate(lines, 1):
        line = decoded(raw, source, number)
        if not line.strip():
            continue
        if cell_of is None:
            first = _first_line(line, source, number)
            name, note = find_column(first.names, "outcome", outcome, source)
            if note is not None and announce is not None and not first.is_bare:
                announce(note)
            cell_of = first.reader(name)
            if first.is_header:
                continue
        cell = cell_of(line, number)
        try:
            value = probability(cell)
        except ValueError as error:
            raise InputError(
                str(error), source=source, row=number, column=name, value=cell
            ) from None
        yielded = True
        yield value
    if cell_of is None:
        raise InputError("there were no lines", source=source)
    if not yielded:
        raise InputError(
            f"there are no rows below the columns {listed(first.names)}", source=source
        )


class _FirstLine(NamedTuple):
    """What the first line tells about all of them."""

    names: list[str]
    reader: Callable[[str], Reader]  # makes the reader of the column so named
    is_header: bool = False
    is_bare: bool = False


def _first_line(line: str, source: str, number: int) -> _FirstLine:
    if line.lstrip().startswith("{"):
        names = list(parse_object(line, source, number))
        return _FirstLine(names, lambda name: _member(name, source))
    header = header_of(_split(line, source, number), source, number)
    if header is None:
        return _FirstLine(["outcome"], lambda _: lambda text, _number: text.strip(), is_bare=True)
    return _FirstLine(header, lambda name: _field(header, name, source), is_header=True)


def _member(name: str, source: str) -> Reader:
    return lambda line, number: parse_object(line, source, number).get(name)


def _field(names: list[str], name: str, source: str) -> Reader:
    at = names.index(name)

    def cell_of(line: str, number: int) -> object:
        row = _split(line, source, number)
        if len(row) != len(names):
            refuse_row(row, names, source, number)
        return row[at]

    return cell_of


def _split(line: str, source: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(f"is not a CSV row: {error}", source=source, row=number) from None
