"""Read a file, standard input or a data frame.

The kind of a file follows from its name (.csv, .tsv, .json, .jsonl, .parquet and so on, each also
with .gz, .bz2, .xz or .zst), or else from how its content begins.
"""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from calibrant._checks import check_choice
from calibrant.tables.delimited import check_delimiter, parse_csv
from calibrant.tables.errors import InputError
from calibrant.tables.frames import from_frame, parse_parquet
from calibrant.tables.json_rows import parse_json
from calibrant.tables.packed import PACKINGS, packing_of, unpacked
from calibrant.tables.table import Table

KINDS = ("csv", "tsv", "json", "jsonl", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
SPREADSHEETS = (".xls", ".xlsx", ".xlsm", ".xlsb", ".ods")
OLD_EXCEL, ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
#: Why a file cannot be read, in plainer words than the system's.
UNREADABLE: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "is a folder, must be a file",
    PermissionError: "may not be read (permission denied)",
}


def read(
    source: str | os.PathLike[str] | Any, *, kind: str | None = None, delimiter: str | None = None
) -> Table:
    """Return the rows of a file, of standard input or of a data frame.

    Parameters
    ----------
    source : path, "-" or data frame
        A file, standard input, or a frame of pandas, polars, pyarrow or whatever narwhals knows.
    kind : {"csv", "tsv", "json", "jsonl", "parquet"}, optional
        What the file is, if neither its name nor its first bytes show it.
    delimiter : str, optional
        What separates the columns of a CSV file, one character or ``tab``. If it is not given, the
        first line shows it: ``,``, ``;``, a tab or ``|``.

    Returns
    -------
    Table
        Every column as it was read; `Table.take` turns one into probabilities.

    Raises
    ------
    InputError
        When the file cannot be read, is cut short, is empty or holds no rows, or when its columns
        may be separated by either of two characters.
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
    if delimiter is not None:
        delimiter = check_delimiter(delimiter)
    if not isinstance(source, str | os.PathLike):
        return from_frame(
            source, "data frame", wanted="source must be a path, '-' for standard input, or"
        )
    path = os.fspath(source)
    name = "standard input" if path == "-" else path
    try:
        data = standard_input().read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        problem = UNREADABLE.get(type(error), f"cannot be read ({error})")
        raise InputError(problem, source=name) from None
    if not data:
        raise InputError("the file is empty", source=name)
    data = unpacked(data, name, packing_of(path))
    refuse_spreadsheet(data, path, name)
    kind = kind or kind_of(path) or _sniffed(data)
    if kind == "parquet":
        return parse_parquet(data, name)
    text = decoded(data, name)
    if kind in ("json", "jsonl"):
        return parse_json(text, name)
    return parse_csv(text, name, delimiter or ("\t" if kind == "tsv" else None))


def standard_input() -> BinaryIO:
    """Return the bytes that come in, or say that there are none."""
    if sys.stdin is None:  # closed by whoever started the program
        raise InputError("is closed; give a file, or a pipe", source="standard input")
    return sys.stdin.buffer


def kind_of(name: str) -> str | None:
    """Return the kind of file that a name promises, or None."""
    path = Path(name.lower())
    return SUFFIXES.get(Path(path.stem).suffix if path.suffix in PACKINGS else path.suffix)


def _sniffed(data: bytes) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    start = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    return "json" if start in (b"{", b"[") else "csv"


def refuse_spreadsheet(data: bytes, path: str, source: str) -> None:
    """Refuse spreadsheets and archives, and say what to do with them."""
    if (
        path.lower().endswith(SPREADSHEETS)
        or data.startswith(OLD_EXCEL)
        or (data.startswith(ZIP) and b"xl/" in data)
    ):
        raise InputError(
            "is a spreadsheet; save the sheet as CSV (in Excel: Save As, CSV UTF-8) and read that",
            source=source,
        )
    if data.startswith(ZIP):
        raise InputError(
            "is a zip archive; unpack it (unzip) and read what is inside", source=source
        )


def decoded(data: bytes, source: str, line: int = 1) -> str:
    """Return bytes, which start at that line, as text without a byte order mark.

    They are UTF-8, or UTF-16 if a byte order mark says so.
    """
    encoding = "utf-8"
    if line == 1:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        names = "UTF-8" if encoding == "utf-8" else "whole UTF-16"
        raise InputError(
            f"must be {names} text, got the byte {data[error.start]:#04x}; if it was made on "
            "Windows: iconv -f WINDOWS-1252 -t UTF-8",
            source=source,
            row=line + data.count(b"\n", 0, error.start),
            value=data[error.start : error.start + 1],
        ) from None
    if "\0" in text:
        raise InputError(
            "holds zero bytes, which no text has; if it is UTF-16 without a byte order mark: "
            "iconv -f UTF-16LE -t UTF-8",
            source=source,
            row=line + text.count("\n", 0, text.index("\0")),
        )
    return text
