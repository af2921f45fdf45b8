"""The results of a sweep on disk: one row a cell and measure, in Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant
from calibrant.experiments.cells import Cell
from calibrant.forecasters import named as forecasters
from calibrant.streams import named as streams
from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError
from calibrant.tables.frames import import_pyarrow

__all__ = ["COLUMNS", "read"]

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


class Identity(NamedTuple):
    """What a cell is, however its specs were written; the first columns of its rows."""

    forecaster: str
    forecaster_parameters: str
    stream: str
    stream_parameters: str
    rounds: int
    seed: int
    measures: tuple[str, ...]
    calibrant: str
    numpy: str


class Identifier:
    """Turns cells into identities; reads each spec, and each file, once."""

    def __init__(self) -> None:
        self._forecasters: dict[str, tuple[str, str]] = {}
        self._streams: dict[str, tuple[str, str]] = {}

    def __call__(self, cell: Cell, measures: Iterable[str]) -> Identity:
        """Return the identity of a cell with its measures."""
        if cell.forecaster not in self._forecasters:
            name, parameters = forecasters.parameters(cell.forecaster)
            self._forecasters[cell.forecaster] = name, as_text(parameters)
        if cell.stream not in self._streams:
            name, parameters = streams.parameters(cell.stream)
            self._streams[cell.stream] = name, as_text(parameters)
        return Identity(
            *self._forecasters[cell.forecaster],
            *self._streams[cell.stream],
            cell.rounds,
            cell.seed,
            tuple(sorted(set(measures))),
            calibrant.__version__,
            np.__version__,
        )


def as_text(parameters: Mapping[str, Any]) -> str:
    """Return parameters as JSON with sorted keys: equal parameters, equal text."""
    return json.dumps(parameters, sort_keys=True, ensure_ascii=False)


def write(folder: Path, finished: Mapping[Identity, Mapping[str, float]]) -> None:
    """Write the results of a sweep: sorted, so that equal numbers give equal bytes."""
    arrow, parquet = import_pyarrow()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for identity in sorted(finished):
        values = finished[identity]
        segments = values.get("segments")
        cell = identity._asdict() | {
            "deviation": values.get("deviation"),
            "segments": None if segments is None else int(segments),
        }
        for name, column in columns.items():
            if name == "measure":
                column.extend(identity.measures)
            elif name == "value":
                column.extend(values[measure] for measure in identity.measures)
            else:
                column.extend([cell[name]] * len(identity.measures))
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in COLUMNS.items()])
    for part in folder.glob(f".{NAME}.*.part"):
        part.unlink()  # of a sweep that was killed while it wrote
    with replacing(folder / NAME) as file:
        # With checksums: what a disk has changed is refused, not used.
        parquet.write_table(arrow.table(columns, schema), file, write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())


def read(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the rows of a finished sweep, each a dictionary with the columns as keys.

    Parameters
    ----------
    folder : path
        Where `calibrant.experiments.sweep.sweep` wrote them.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments import results
    >>> from calibrant.experiments.cells import Cell
    >>> from calibrant.experiments.sweep import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep([Cell("zoom", "drift", 100)], folder, workers=1, measures=["points"])
    ...     rows = results.read(folder)
    >>> rows[0]["forecaster"], rows[0]["measure"], rows[0]["value"] >= 1
    ('zoom', 'points', True)
    """
    arrow, parquet = import_pyarrow()
    path = str(Path(folder) / NAME)
    try:
        # Not `read_table`, which imports pandas where there is one.
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except FileNotFoundError:
        raise InputError("there are no results; has the sweep finished?", source=path) from None
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"not the results of a sweep, or damaged ({reason}); remove it and sweep again, or "
            "choose another folder",
            source=path,
        ) from None
    if table.column_names != list(COLUMNS):
        raise InputError("not the results of a sweep (other columns)", source=path)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def finished_in(folder: Path) -> dict[Identity, dict[str, float]]:
    """Return the cells of a finished sweep, if there is one in this folder."""
    if not (folder / NAME).exists():
        return {}
    cells: dict[tuple[Any, ...], dict[str, float]] = {}
    same = [name for name in Identity._fields if name != "measures"]
    for row in read(folder):
        values = cells.setdefault(tuple(row[name] for name in same), {})
        values[row["measure"]] = row["value"]
        values |= {
            name: float(row[name]) for name in ("deviation", "segments") if row[name] is not None
        }
    return {
        Identity(
            **dict(zip(same, key, strict=True)),
            measures=tuple(sorted(values.keys() - {"deviation", "segments"})),
        ): values
        for key, values in cells.items()
    }
