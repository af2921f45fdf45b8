"""Read a file, standard input or a data frame.

The kind of a file follows from its name (.csv, .jsonl, .ndjson, .parquet, each also with .gz), or
else from how its content begins.
"""

from __future__ import annotations

import codecs
import gzip
import os
import sys
import zlib
from pathlib import Path
from typing import Any

from calibrant._checks import check_choice
from calibrant.tables.delimited import parse_csv
from calibrant.tables.errors import InputError
from calibrant.tables.frames import from_frame, parse_parquet
from calibrant.tables.jsonlines import parse_jsonl
from calibrant.tables.table import Table

KINDS = ("csv", "jsonl", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
GZIP = b"\x1f\x8b"
#: Why a file cannot be read, in plainer words than the system's.
UNREADABLE: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "is a folder, must be a file",
    PermissionError: "may not be read (permission denied)",
}


def read(source: str | os.PathLike[str] | Any, *, kind: str | None = None) -> Table:
    """Return the rows of a file, of standard input or of a data frame.

    Parameters
    ----------
    source : path, "-" or data frame
        A file, standard input, or a frame of pandas, polars, pyarrow or whatever narwhals knows.
    kind : {"csv", "jsonl", "parquet"}, optional
        What the file is, if neither its name nor its first bytes show it.

    Returns
    -------
    Table
        Every column as it was read; `Table.take` turns one into probabilities.

    Raises
    ------
    InputError
        When the file cannot be read, is cut short, is empty or holds no rows.
    ImportError
        For Parquet without pyarrow.

    Examples
    --------
    >>> import pandas
    >>> from calibrant.tables import read
    >>> column = read(pandas.DataFrame({"y": [1, 0, 1]})).take("outcome")
    >>> column.values, column.note
    (array([1., 0., 1.]), "data frame: no outcome column was named, taking 'y'")
    """
    if kind is not None:
        check_choice("kind", kind, KINDS)
    if not isinstance(source, str | os.PathLike):
        return from_frame(
            source, "data frame", wanted="source must be a path, '-' for standard input, or"
        )
    path = os.fspath(source)
    name = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        problem = UNREADABLE.get(type(error), f"cannot be read ({error})")
        raise InputError(problem, source=name) from None
    if not data:
        raise InputError("the file is empty", source=name)
    if path.lower().endswith(".gz") or data.startswith(GZIP):
        data = unzipped(data, name)
    kind = kind or kind_of(path) or _sniffed(data)
    if kind == "parquet":
        return parse_parquet(data, name)
    parse = parse_jsonl if kind == "jsonl" else parse_csv
    return parse(decoded(data, name), name)


def kind_of(name: str) -> str | None:
    """Return the kind of file that a name promises, or None."""
    return SUFFIXES.get(Path(name.lower().removesuffix(".gz")).suffix)


def _sniffed(data: bytes) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "csv"


def unzipped(data: bytes, source: str) -> bytes:
    """Return what gzip packed, or say how it is damaged."""
    if not data.startswith(GZIP):
        raise InputError("the name says gzip, but the content is not gzip", source=source)
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InputError(
            "the gzip data end too early: the file is cut short", source=source
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data are damaged ({error})", source=source) from None


def decoded(data: bytes, source: str, line: int = 1) -> str:
    """Return UTF-8 bytes, which start at that line, as text without a byte order mark."""
    if line == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"must be UTF-8 text, got the byte {data[error.start]:#04x}",
            source=source,
            row=line + data.count(b"\n", 0, error.start),
            value=data[error.start : error.start + 1],
        ) from None
