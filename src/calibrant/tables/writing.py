"""Write a table: CSV, JSON or Parquet, by the name of the file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO, cast

import numpy as np

from calibrant._checks import check_choice, describe
from calibrant.tables.atomic import replacing
from calibrant.tables.cells import DECIMAL_COMMA
from calibrant.tables.errors import InputError
from calibrant.tables.frames import import_pyarrow
from calibrant.tables.reading import KINDS, SUFFIXES, kind_of
from calibrant.tables.table import Table

# A number as JSON writes it. Not 007, which is a name.
NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d+)?")


def write(path: str | os.PathLike[str], table: Table, *, kind: str | None = None) -> None:
    """Write a table under a name that appears only once the file is whole.

    Text cells stay as they were read, except that a column of which every cell is a number (or
    empty) becomes a column of numbers in JSON and Parquet. CSV keeps the delimiter and the decimal
    commas of the file it was read from.

    Parameters
    ----------
    path : path
        Where to; a name that ends in .gz, .bz2 or .xz is packed, the same bytes on every run.
    table : Table
        What to write.
    kind : {"csv", "tsv", "json", "jsonl", "parquet"}, optional
        What to write it as, if the name does not say.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.tables import Table, write
    >>> table = Table("memory", {"y": ["1", "0"]}).with_column("prediction", [0.5, 0.25])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "out.jsonl", table)
    ...     print((Path(folder) / "out.jsonl").read_text(), end="")
    {"y": 1, "prediction": 0.5}
    {"y": 0, "prediction": 0.25}
    """
    if not isinstance(table, Table):
        raise ValueError(f"table must be a Table, got {describe(table)}")
    name = os.fspath(path)
    kind = kind_to_write(name) if kind is None else check_choice("kind", kind, KINDS)
    check_packing(name)
    with replacing(path) as whole, packing(whole, name) as file:
        WRITERS[kind](file, table)


def kind_to_write(name: str) -> str:
    """Return what a file of this name is to be written as; refuse a name that does not say."""
    check_packing(name)
    kind = kind_of(name).kind
    if kind is None:
        raise InputError(
            f"the name must end in one of {', '.join(SUFFIXES)} (or these with .gz, .bz2 or .xz)",
            source=name,
        )
    return kind


def check_packing(name: str) -> None:
    """Refuse a name that says zstd: it is read, not written."""
    if kind_of(name).packing == "zstd":
        raise InputError("cannot be packed with zstd; .gz, .bz2 and .xz can", source=name)


def packing(file: BinaryIO, name: str) -> AbstractContextManager[BinaryIO]:
    """Return a file that packs what is written to it as the name says; equal bytes on every run."""
    match kind_of(name).packing:
        case "gzip":
            # No name and no time inside: equal tables give equal files.
            return cast(
                "AbstractContextManager[BinaryIO]", gzip.GzipFile("", "wb", 6, file, mtime=0)
            )
        case "bzip2":
            return cast("AbstractContextManager[BinaryIO]", bz2.BZ2File(file, "wb"))
        case "xz":
            return cast("AbstractContextManager[BinaryIO]", lzma.LZMAFile(file, "wb"))
        case _:
            return nullcontext(file)


def write_csv(
    file: BinaryIO, table: Table, delimiter: str | None = None, *, header: bool = True
) -> None:
    """Write a table as CSV to a file that is open, standard output for instance."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, delimiter=delimiter or table.delimiter or ",", lineterminator="\n")
    if header:
        rows.writerow(table.columns)
    columns = [
        [_as_text(cell, table.decimal) for cell in table.cells(name).values()]
        for name in table.columns
    ]
    rows.writerows(zip(*columns, strict=True))
    text.detach()


def _write_tsv(file: BinaryIO, table: Table) -> None:
    write_csv(file, table, "\t")


def _write_jsonl(file: BinaryIO, table: Table) -> None:
    for record in _records(table):
        file.write(record + b"\n")


def _write_json(file: BinaryIO, table: Table) -> None:
    for at, record in enumerate(_records(table)):
        file.write((b",\n" if at else b"[\n") + record)
    file.write(b"\n]\n")


def _records(table: Table) -> Iterator[bytes]:
    """Yield each row as a JSON object."""
    columns = [_typed(table.cells(name).values(), table.decimal) for name in table.columns]
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)
    for row in zip(*columns, strict=True):
        record = dict(zip(table.columns, row, strict=True))
        for name, cell in record.items():
            if isinstance(cell, float) and not math.isfinite(cell):
                record[name] = None  # JSON has no NaN and no infinity
        yield encoder.encode(record).encode()


def _write_parquet(file: BinaryIO, table: Table) -> None:
    _, parquet = import_pyarrow()
    parquet.write_table(arrow_table(table), file)


def arrow_table(table: Table) -> Any:
    """Return a table as pyarrow's, each column with a type."""
    arrow, _ = import_pyarrow()
    arrays = {}
    for name, column in table.columns.items():
        try:
            if isinstance(column, Sequence):
                arrays[name] = arrow.array(_typed(column, table.decimal))
            elif isinstance(column, np.ndarray):
                arrays[name] = arrow.array(column)
            else:
                arrays[name] = column.to_arrow()  # with the type it had in its frame
        except arrow.ArrowException as error:
            raise InputError(
                f"cannot be written as Parquet ({error})", source=table.source, column=name
            ) from None
    return arrow.table(arrays)


def _typed(cells: Sequence[Any], decimal: str) -> Sequence[Any]:
    """Return text cells as numbers where they all are, with None for the empty ones."""
    filled = [cell for cell in cells if cell != ""]
    if not filled or not all(isinstance(cell, str) for cell in filled):
        return cells
    texts = cells
    if decimal == ",":
        texts = [c.replace(",", ".") if DECIMAL_COMMA.fullmatch(c) else c for c in cells]
    if not all(text == "" or NUMBER.fullmatch(text) for text in texts):
        return cells
    number = int if all(cell.lstrip("-").isdigit() for cell in filled) else float
    return [None if text == "" else number(text) for text in texts]


def _as_text(cell: Any, decimal: str) -> Any:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and decimal == ",":
        return repr(float(cell)).replace(".", ",")
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else cell


WRITERS: dict[str, Callable[[BinaryIO, Table], None]] = {
    "csv": write_csv,
    "tsv": _write_tsv,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
