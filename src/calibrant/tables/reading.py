"""Read a file, standard input or a data frame.

The kind of a file follows from its name (.csv, .tsv, .json, .jsonl, .parquet and so on, each also
with .gz, .bz2, .xz or .zst), or else from how its content begins; whether it is packed, from how it
begins, whatever its name.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from calibrant._checks import check_choice
from calibrant.tables.delimited import check_delimiter, parse_csv
from calibrant.tables.errors import InputError
from calibrant.tables.frames import from_frame, import_pyarrow, parse_parquet
from calibrant.tables.json_rows import parse_json
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
#: How a name ends: what the file is packed with.
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
BEGINNINGS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
#: Bytes that are read at once, and in one piece of them; and those of the longest line.
MOST, PIECE = 2**30, 2**20
LONGEST_LINE = 2**27
#: The last bytes of gzip: how many it packs. Other packings hold about so many times as much.
ISIZE, PACKED = struct.Struct("<I"), 4
SPREADSHEETS = (".xls", ".xlsx", ".xlsm", ".xlsb", ".ods")
OLD_EXCEL, ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
#: What unpacking raises where data are damaged.
DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
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
        When the file cannot be read, is truncated, is empty or holds no rows, or when its columns
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
        if path == "-":
            data = bounded(standard_input(), name)
        else:
            with Path(path).open("rb") as file:
                data = bounded(file, name)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        problem = UNREADABLE.get(type(error), f"cannot be read ({error})")
        raise InputError(problem, source=name) from None
    if not data:
        raise InputError("the file is empty", source=name)
    named = kind_of(path)
    data = unpacked(data, name, named.packing)
    is_zip = data.startswith(ZIP)
    if (
        path.lower().endswith(SPREADSHEETS)
        or data.startswith(OLD_EXCEL)
        or (is_zip and b"xl/" in data)
    ):
        raise InputError(
            "is a spreadsheet; save the sheet as CSV (in Excel: Save As, CSV UTF-8) and read that",
            source=name,
        )
    if is_zip:
        raise InputError("is a zip archive; unpack it (unzip) and read what is inside", source=name)
    kind = kind or named.kind or _sniffed(data)
    if kind == "parquet":
        return parse_parquet(data, name)
    text = decoded(data, name)
    if kind in ("json", "jsonl"):
        return parse_json(text, name)
    return parse_csv(text, name, delimiter or ("\t" if kind == "tsv" else None))


def standard_input() -> BinaryIO:
    """Return the bytes that come in, or say that there are none."""
    if sys.stdin is None:  # closed by the caller
        raise InputError("is closed; give a file, or a pipe", source="standard input")
    return sys.stdin.buffer


class NamedKind(NamedTuple):
    """What the name of a file says it is; None where it says nothing."""

    kind: str | None
    packing: str | None


def kind_of(name: str) -> NamedKind:
    """Return the kind of file, and the packing, that a name promises."""
    path = Path(name.lower())
    packing = PACKINGS.get(path.suffix)
    return NamedKind(SUFFIXES.get((path if packing is None else Path(path.stem)).suffix), packing)


def unpacked_size(path: Path, packing: str) -> int:
    """Return about how many bytes a packed file holds, without reading it."""
    size = path.stat().st_size
    if packing != "gzip" or size < ISIZE.size:
        return PACKED * size
    with path.open("rb") as file:  # it says so at its end, modulo 2**32
        file.seek(-ISIZE.size, os.SEEK_END)
        (found,) = ISIZE.unpack(file.read())
    return max(size, int(found))


def _sniffed(data: bytes) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    start = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    return "json" if start in (b"{", b"[") else "csv"


def unpacked(data: bytes, source: str, packing: str | None = None) -> bytes:
    """Return the bytes of a file, unpacked if they are packed, or say how they are damaged.

    `packing` is what the name of the file promises.
    """
    possible = [each for each, begins in BEGINNINGS.items() if begins.match(data)]
    if not possible:
        if packing is None:
            return data
        raise InputError(
            f"the name says {packing}, but the content is not {packing}", source=source
        )
    (found,) = possible
    try:
        with UNPACK[found](io.BytesIO(data)) as stream:
            return bounded(stream, source)
    except InputError:
        raise
    except ImportError:
        raise InputError(
            "is packed with zstd, which is read with pyarrow (pip install 'calibrant[parquet]'); "
            "or unpack it first: zstd -d",
            source=source,
        ) from None
    except DAMAGED as error:
        raise damaged(error, found, source) from None


def damaged(error: Exception, packing: str, source: str) -> InputError:
    """Return what is wrong with packed data that cannot be unpacked."""
    if isinstance(error, EOFError) or re.search("ended before|[Tt]runcated", str(error)):
        problem = f"the {packing} data end too early: the file is cut short"
    else:
        problem = f"the {packing} data are damaged ({error})"
    return InputError(problem, source=source)


def bounded(stream: BinaryIO, source: str) -> bytes:
    """Return all that a stream has, or refuse what no table is, before it fills the memory."""
    pieces: list[bytes] = []
    size = line = 0
    while piece := stream.read(PIECE):
        end = piece.rfind(b"\n")
        size, line = size + len(piece), len(piece) - end - 1 + (line if end < 0 else 0)
        if line > LONGEST_LINE:
            raise InputError(f"has a line of more than {LONGEST_LINE:,} bytes", source=source)
        if size > MOST:
            raise InputError(
                f"holds more than {MOST:,} bytes, which are not read at once; calibrant "
                "recalibrate reads a CSV or Parquet file of any size if it is not packed and no "
                "option asks for all rows (--report, --json, --by, --id)",
                source=source,
            )
        pieces.append(piece)
    return b"".join(pieces)


def _unpack_zstd(packed: BinaryIO) -> BinaryIO:
    arrow, _ = import_pyarrow()
    return cast("BinaryIO", arrow.CompressedInputStream(packed, "zstd"))


UNPACK: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    "gzip": lambda packed: cast("BinaryIO", gzip.GzipFile(fileobj=packed)),
    "bzip2": lambda packed: cast("BinaryIO", bz2.BZ2File(packed)),
    "xz": lambda packed: cast("BinaryIO", lzma.LZMAFile(packed)),  # noqa: SIM115 - in memory
    "zstd": _unpack_zstd,
}


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
