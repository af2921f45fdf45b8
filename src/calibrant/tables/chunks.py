"""Files that do not fit into memory: CSV and Parquet in, and out, some rows at a time."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from calibrant.tables.atomic import replacing
from calibrant.tables.delimited import NoRowsError, parse_csv
from calibrant.tables.errors import InputError
from calibrant.tables.frames import from_frame, import_pyarrow
from calibrant.tables.reading import (
    DAMAGED,
    LONGEST_LINE,
    UNREADABLE,
    damaged,
    decoded,
    kind_of,
    read,
)
from calibrant.tables.reading import UNPACK as UNPACK_ANY
from calibrant.tables.table import Table
from calibrant.tables.writing import arrow_table, kind_to_write, packing, write_csv

#: Bytes of CSV, and rows of Parquet, that are in memory at a time.
BLOCK = 2**22
ROWS = 2**17
UNPACK: dict[str | None, Callable[[BinaryIO], BinaryIO]] = {
    None: lambda file: file,
    **{name: UNPACK_ANY[name] for name in ("gzip", "bzip2", "xz")},
}


Write = Callable[[Table], None]


class Chunk(NamedTuple):
    """Some rows of a file, and how far it has been read."""

    table: Table
    rows_before: int
    share: float  # of the file, up to the end of these rows

    def placed(self, error: InputError) -> InputError:
        """Return an error about a row of these with the row's number in the file."""
        if error.row is None or self.table.lines is not None:
            return error
        return error.at(row=error.row + self.rows_before, unit=error.unit)


def chunks(path: str | os.PathLike[str], *, delimiter: str | None = None) -> Iterator[Chunk]:
    r"""Yield the rows of a file in tables of some thousand rows.

    CSV, packed too, and Parquet are read piece by piece; every other file is one piece.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("key,y\na,1\nb,0\n")
    ...     [(chunk.table.columns, chunk.share) for chunk in chunks(f"{folder}/a.csv")]
    [({'key': ['a', 'b'], 'y': ['1', '0']}, 1.0)]
    """
    name = os.fspath(path)
    kind, packed_with = kind_of(name)
    if kind == "parquet" and packed_with is None:
        pieces = _parquet(name)
    elif kind in ("csv", "tsv") and packed_with in UNPACK and not _is_utf16(name):
        pieces = _csv(name, "\t" if kind == "tsv" and delimiter is None else delimiter)
    else:
        pieces = ((table, 1.0) for table in [read(name, delimiter=delimiter)])
    rows = 0
    for table, share in pieces:
        yield Chunk(table, rows, share)
        rows += len(table)


def _opened(name: str) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except OSError as error:
        problem = UNREADABLE.get(type(error), f"cannot be read ({error})")
        raise InputError(problem, source=name) from None


def _is_utf16(name: str) -> bool:
    with _opened(name) as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _parquet(name: str) -> Iterator[tuple[Table, float]]:
    arrow, parquet = import_pyarrow()
    with _opened(name) as file:
        try:
            opened = parquet.ParquetFile(file)
            total, done = opened.metadata.num_rows, 0
            if not total:
                yield from_frame(opened.read(), name), 1.0  # says that there are no rows
            for batch in opened.iter_batches(batch_size=ROWS):
                done += len(batch)
                yield from_frame(arrow.Table.from_batches([batch]), name), done / total
        except (arrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"is not a whole Parquet file ({reason})", source=name) from None


def _csv(name: str, delimiter: str | None) -> Iterator[tuple[Table, float]]:
    """Yield tables of a CSV file, each parsed below the names of the columns."""
    header, lines_before, is_begun = "", 0, False
    nothing = InputError("the file is empty", source=name)
    with _opened(name) as file:
        size = os.fstat(file.fileno()).st_size
        for block in _whole_rows(file, kind_of(name).packing, name):
            text = decoded(block, name, lines_before + 1)
            if text.strip():
                # What stands before the text, the names of the columns, has lines of its own.
                shift = lines_before - header.count("\n")
                try:
                    table = parse_csv(header + text, name, delimiter)
                except NoRowsError as error:  # so far: blank lines, or a long row, may follow
                    header, nothing = (header + text).rstrip() + "\n", error
                except InputError as error:
                    raise error.at(row=error.row and error.row + shift) from None
                else:
                    lines = [line + shift for line in cast("list[int]", table.lines)]
                    header, delimiter, is_begun = _header(table), table.delimiter, True
                    yield replace(table, lines=lines), min(file.tell() / size, 1.0)
            lines_before += block.count(b"\n")
    if not is_begun:
        raise nothing


def _header(table: Table) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=table.delimiter or ",", lineterminator="\n").writerow(table.columns)
    return text.getvalue()


def _whole_rows(file: BinaryIO, packed_with: str | None, name: str) -> Iterator[bytes]:
    """Yield blocks that end where a row does: at the end of a line, outside of quotes."""
    stream = UNPACK[packed_with](file)
    rest = b""
    while True:
        try:
            block = stream.read(BLOCK)
        except DAMAGED as error:
            if packed_with is None:
                raise InputError(f"cannot be read ({error})", source=name) from None
            raise damaged(error, packed_with, name) from None
        rest += block
        if not block:
            break
        end = rest.rfind(b"\n") + 1
        while end and rest.count(b'"', 0, end) % 2:
            end = rest.rfind(b"\n", 0, end - 1) + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        if len(rest) > LONGEST_LINE:
            raise InputError(f"has a row of more than {LONGEST_LINE:,} bytes", source=name)
    if rest:
        yield rest


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Write]:
    """Open a CSV or Parquet file, which appears once it is whole; gives what writes a table."""
    name = os.fspath(path)
    kind = kind_to_write(name)
    with replacing(path) as whole, packing(whole, name) as file:
        if kind in ("csv", "tsv"):
            started = False

            def write(table: Table) -> None:
                nonlocal started
                write_csv(file, table, "\t" if kind == "tsv" else None, header=not started)
                started = True

            yield write
        elif kind == "parquet":
            with _ParquetFile(file) as parquet:
                yield parquet.write
        else:
            raise InputError("with keys, --out is written as CSV or Parquet", source=name)


class _ParquetFile:
    """A Parquet file with the columns of the first table that is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.writer: Any = None

    def write(self, table: Table) -> None:
        rows = arrow_table(table)
        if self.writer is None:
            _, parquet = import_pyarrow()
            self.writer = parquet.ParquetWriter(self.file, rows.schema)
        self.writer.write_table(rows.cast(self.writer.schema))

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()
