"""Results on disk: ``results.parquet``, a row for every task and measure."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.experiments import journal
from calibrant.experiments.results import Results
from calibrant.experiments.tasks import Identity, Result, Task, spec_of
from calibrant.streams import ADVERSARIES, FAMILIES
from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError
from calibrant.tables.frames import import_pyarrow

#: The name of the file in its folder.
NAME = "results.parquet"
#: The columns and their types, as pyarrow calls them.
COLUMNS = {
    "forecaster": "string",
    "forecaster_parameters": "string",
    "stream": "string",
    "stream_parameters": "string",
    "rounds": "int64",
    "seed": "int64",
    "deviation": "float64",
    "segments": "int64",
    "measure": "string",
    "value": "float64",
    "calibrant": "string",
    "numpy": "string",
}
OPTIONAL = ("deviation", "segments")  # where the means of the outcomes are not known


def write_results(folder: Path, results: Iterable[Result]) -> None:
    """Write the results of a sweep: sorted, so that equal numbers give equal bytes."""
    arrow, parquet = import_pyarrow()
    rows = [
        result.identity._asdict()
        | {"deviation": result.deviation, "segments": result.segments}
        | {"measure": measure, "value": result.values[measure]}
        for result in sorted(results, key=lambda result: result.identity)
        for measure in result.identity.measures
    ]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in COLUMNS.items()])
    for part in folder.glob(f".{NAME}.*.part"):
        part.unlink()  # left by a sweep that was killed while writing
    with replacing(folder / NAME) as file:
        # With checksums, so that a file that a disk has damaged is refused.
        parquet.write_table(arrow.table(columns, schema), file, write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Read and check ``results.parquet`` of a folder.

    Synthetic streams come first, then adversaries, then real streams.

    Examples
    --------
    >>> from calibrant.experiments import read_results
    >>> read_results("nowhere")
    Traceback (most recent call last):
    calibrant.tables.errors.InputError: nowhere/results.parquet: is not there...
    """
    path = Path(folder) / NAME
    if not path.exists():
        raise InputError(
            "does not exist yet: the sweep has not finished, and the same command resumes it"
            if path.with_name(journal.NAME).exists()
            else "is not there; `calibrant compare` and `calibrant reproduce` write it",
            source=str(path),
        )
    arrow, parquet = import_pyarrow()
    try:
        # Not `read_table`, which imports pandas where there is one.
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except (arrow.ArrowException, OSError) as error:
        raise InputError(
            f"is not a whole Parquet file ({str(error).splitlines()[0]}); remove it and sweep "
            "again, or choose another folder",
            source=str(path),
        ) from None
    _check_columns(table, arrow, str(path))
    results = _gather(table.select(list(COLUMNS)).to_pylist(), str(path))
    return Results(sorted(results, key=lambda result: _kind(result.identity.stream)))


def finished_in(folder: Path) -> dict[Identity, Result]:
    """Return the results of a finished sweep, if there is one in this folder."""
    results = read_results(folder).all if (folder / NAME).exists() else ()
    return {result.identity: result for result in results}


def _check_columns(table: Any, arrow: Any, source: str) -> None:
    """Refuse a table that lacks columns or rows, or has a column of the wrong type."""
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(
            f"lacks the columns {', '.join(missing)}; it has {', '.join(table.column_names)}",
            source=source,
        )
    if table.num_rows == 0:
        raise InputError("has no rows", source=source)
    types = arrow.types
    allowed = {
        "string": ("words", (types.is_string, types.is_large_string)),
        "int64": ("whole numbers", (types.is_integer,)),
        "float64": ("numbers", (types.is_floating, types.is_integer)),
    }
    for name, kind in COLUMNS.items():
        column, (content, fits) = table.column(name), allowed[kind]
        empty = name in OPTIONAL and types.is_null(column.type)
        if not (empty or any(fit(column.type) for fit in fits)):
            raise InputError(
                f"column {name!r} must hold {content}, holds {column.type}", source=source
            )
        if column.null_count and name not in OPTIONAL:
            row = column.is_null().to_pylist().index(True)
            raise InputError(f"column {name!r} must be filled, row {row} is empty", source=source)


def _gather(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[Result]:
    """Return the results of a long table, the measures of each together."""
    shared = [name for name in COLUMNS if name not in ("measure", "value")]
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    seen: set[tuple[Task, str]] = set()
    for number, row in enumerate(rows):
        forecaster, stream = (
            _checked_spec(row, what, f"{source}, row {number}") for what in ("forecaster", "stream")
        )
        # The same measure of a task twice is wrong, also if two versions measured it.
        measured = Task(forecaster, stream, row["rounds"], row["seed"]), row["measure"]
        if measured in seen:
            raise InputError(f"row {number} repeats {measured[1]} of {measured[0]}", source=source)
        seen.add(measured)
        values = found.setdefault(tuple(row[name] for name in shared), {})
        if math.isnan(row["value"]):
            raise InputError(
                f"column 'value' must hold numbers, row {number} is NaN", source=source
            )
        values[row["measure"]] = row["value"]
    for key, values in found.items():
        columns = dict(zip(shared, key, strict=True))
        known = {name: columns.pop(name) for name in OPTIONAL}
        yield Result(Identity(**columns, measures=tuple(sorted(values))), values, **known)


def _checked_spec(row: Mapping[str, Any], what: str, source: str) -> str:
    name, parameters = row[what], row[f"{what}_parameters"]
    try:
        return spec_of(name, parameters)
    except (ValueError, AttributeError, KeyError, TypeError):
        raise InputError(
            f"parameters of {name!r} must be a JSON object, got {parameters!r}", source=source
        ) from None


def _kind(stream: str) -> int:
    """Return 0 for a synthetic stream, 1 for an adversary, 2 for a real one."""
    return 0 if stream in FAMILIES else 1 if stream in ADVERSARIES else 2
