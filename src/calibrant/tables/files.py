"""Read a file, standard input or a data frame.

The kind of a file follows from its name (.csv, .jsonl, .ndjson, .parquet, each also with .gz), or
else from how its content begins.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from calibrant._checks import check_choice
from calibrant.tables.delimited import parse_csv
from calibrant.tables.errors import InputError
from calibrant.tables.frames import from_frame, parse_parquet
from calibrant.tables.jsonlines import parse_jsonl
from calibrant.tables.table import Table
from calibrant.tables.text import GZIP, decoded, unzipped

KINDS = ("csv", "jsonl", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def read(source: str | os.PathLike[str] | Any, *, kind: str | None = None) -> Table:
    """Return the rows of a file, of standard input or of a data frame.

    Parameters
    ----------
    source : path, "-" or data frame
        A file, standard input, or a frame of pandas, polars, pyarrow or whatever narwhals knows.
    kind : {"csv", "jsonl", "parquet"}, optional
        What the file is, where neither its name nor its beginning tells.

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
        return from_frame(source, "data frame")
    name = os.fspath(source)
    if name == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        data = _bytes_of(name)
    if not data:
        raise InputError("the file is empty", source=name)
    if name.lower().endswith(".gz") or data.startswith(GZIP):
        data = unzipped(data, name)
    kind = kind or kind_of(name) or _sniffed(data)
    if kind == "parquet":
        return parse_parquet(data, name)
    text = decoded(data, name)
    return parse_jsonl(text, name) if kind == "jsonl" else parse_csv(text, name)


def kind_of(name: str) -> str | None:
    """Return the kind of file that a name promises, or None."""
    return SUFFIXES.get(Path(name.lower().removesuffix(".gz")).suffix)


def _sniffed(data: bytes) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "csv"


def _bytes_of(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        problem = "there is no such file"
    except IsADirectoryError:
        problem = "is a folder, must be a file"
    except PermissionError:
        problem = "may not be read (permission denied)"
    except (OSError, ValueError) as error:
        problem = f"cannot be read ({error})"
    raise InputError(problem, source=name)
