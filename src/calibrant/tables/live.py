"""Outcomes from a pipe, each as soon as its line arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from calibrant.tables.cells import probability
from calibrant.tables.columns import find_column
from calibrant.tables.errors import InputError
from calibrant.tables.lines import follow_lines


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
        cell = line.cells.get(name)
        try:
            value = probability(cell)
        except ValueError as error:
            raise InputError(
                str(error), source=source, row=line.number, column=name, value=cell
            ) from None
        yield value
