"""The results of a sweep, read back and checked."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.experiments import journal
from calibrant.experiments.results import COLUMNS, NAME
from calibrant.experiments.summary import label
from calibrant.streams import ADVERSARIES, FAMILIES
from calibrant.tables import InputError
from calibrant.tables.frames import import_pyarrow

#: What a column may hold, by the type that it is written as.
CONTENTS = {"string": "words", "int64": "whole numbers", "float64": "numbers"}
OPTIONAL = ("deviation", "segments")  # where the means of the outcomes are not known
#: The errors that a report can rank by, the best known first.
ERRORS = {
    "cal2": "Cal2", "cal1": "Cal1", "klcal": "KLCal", "pcal2": "PCal2", "pklcal": "PKLCal",
    "ece": "ECE", "smece": "smooth ECE", "smooth_calibration": "smooth calibration",
    "brier": "Brier score", "log_loss": "log loss",
}  # fmt: skip
# A sum of rounding errors, where the error is 0.
NOISE = 1e-9
# A forecaster a hundred times worse than the best is as bad as one a thousand times worse.
HOPELESS = 100.0


@dataclass(frozen=True)
class Played:
    """One forecaster on one stream with one seed, and what it was measured to be.

    Forecaster and stream are specs, ``name:key=value,key=value``, from which they can be made
    again.

    Examples
    --------
    >>> from calibrant.report.results import Played
    >>> Played("zoom", "iid:mean=0.5", 1000, 0, None, None, {"cal2": 4.5}).values["cal2"]
    4.5
    """

    forecaster: str
    stream: str
    rounds: int
    seed: int
    deviation: float | None
    segments: int | None
    values: Mapping[str, float]


@dataclass(frozen=True)
class Results:
    """Everything that a sweep measured.

    Attributes
    ----------
    played : sequence of Played
        Every forecaster on every stream, for every number of rounds and every seed.

    Examples
    --------
    >>> from calibrant.report.results import Played, Results
    >>> results = Results([
    ...     Played("zoom", "drift", 1000, 0, None, None, {"cal2": 4.0}),
    ...     Played("zoom", "drift", 1000, 1, None, None, {"cal2": 6.0}),
    ...     Played("epoch", "drift", 1000, 0, None, None, {"cal2": 40.0}),
    ... ])
    >>> results.errors("cal2")
    {'drift': {'zoom': 5.0, 'epoch': 40.0}}
    """

    played: Sequence[Played]

    @property
    def measures(self) -> list[str]:
        """The errors that were measured, the one that most cells have first."""
        cells = {measure: sum(measure in cell.values for cell in self.played) for measure in ERRORS}
        found = [measure for measure in ERRORS if cells[measure]]
        return sorted(found, key=lambda measure: -cells[measure])

    @property
    def streams(self) -> list[str]:
        """The streams, in the order in which they come."""
        return list(dict.fromkeys(cell.stream for cell in self.played))

    @property
    def forecasters(self) -> list[str]:
        """The forecasters, in the order in which they come."""
        return list(dict.fromkeys(cell.forecaster for cell in self.played))

    @property
    def seeds(self) -> list[int]:
        """The seeds, ascending."""
        return sorted({cell.seed for cell in self.played})

    def measured(self, measure: str) -> list[Played]:
        """Return the cells that have a measure."""
        return [cell for cell in self.played if measure in cell.values]

    def longest(self, measure: str) -> dict[str, int]:
        """Return the most rounds of each stream at which it was measured."""
        most: dict[str, int] = {}
        for cell in self.measured(measure):
            most[cell.stream] = max(cell.rounds, most.get(cell.stream, 0))
        return most

    def errors(self, measure: str) -> dict[str, dict[str, float]]:
        """Return the mean over seeds, ``[stream][forecaster]``, at the most rounds of each stream.

        The forecasters come in the order of `ranking`.
        """
        longest = self.longest(measure)
        seeds: dict[str, dict[str, list[float]]] = {stream: {} for stream in longest}
        for cell in self.measured(measure):
            if cell.rounds == longest[cell.stream]:
                seeds[cell.stream].setdefault(cell.forecaster, []).append(cell.values[measure])
        means = {
            stream: {name: _mean(values) for name, values in row.items()}
            for stream, row in seeds.items()
        }
        order = ranking(means)
        return {
            stream: {name: row[name] for name in order if name in row}
            for stream, row in means.items()
        }

    def over_rounds(self, stream: str, measure: str) -> dict[str, dict[float, list[float]]]:
        """Return the errors on a stream, ``[forecaster][rounds]``, one a seed."""
        return _by_size(
            (
                (cell, float(cell.rounds))
                for cell in self.measured(measure)
                if cell.stream == stream
            ),
            measure,
        )

    def over_worlds(self, measure: str) -> list[Worlds]:
        """Return the families with at least three deviations or segments, at the most rounds."""
        groups: dict[tuple[str, int], dict[str, list[Played]]] = {}
        for cell in self.measured(measure):
            if cell.deviation is not None and cell.segments is not None:
                family = cell.stream.partition(":")[0]
                members = groups.setdefault((family, cell.rounds), {})
                members.setdefault(cell.stream, []).append(cell)
        longest = dict(sorted(groups))  # the last of each family has the most rounds
        found = []
        for (family, rounds), members in groups.items():
            if rounds < longest[family]:
                continue
            # Segments that were asked for; where means move, their number says nothing.
            axis = "K" if all("segments=" in stream for stream in members) else "C"
            what = "segments" if axis == "K" else "deviation"
            sized = [
                (cell, float(np.mean([getattr(each, what) for each in cells])))
                for cells in members.values()
                for cell in cells
            ]
            sized = [(cell, size) for cell, size in sized if size > 0]
            if len({size for _, size in sized}) >= 3:
                found.append(Worlds(family, axis, rounds, _by_size(sized, measure)))
        return found


@dataclass(frozen=True)
class Worlds:
    """The errors on streams of one family that differ in deviation C or segments K.

    Attributes
    ----------
    family : str
        Name of the streams.
    axis : {"C", "K"}
        What they differ in.
    rounds : int
        Rounds of each.
    errors : dict
        ``errors[forecaster][size]`` holds the error of each seed.

    Examples
    --------
    >>> from calibrant.report.results import Worlds
    >>> Worlds("piecewise", "K", 1000, {"zoom": {2.0: [1.0], 4.0: [3.0]}}).axis
    'K'
    """

    family: str
    axis: str
    rounds: int
    errors: dict[str, dict[float, list[float]]]


def _mean(values: Sequence[float]) -> float:
    mean = float(np.mean(values))
    return mean if mean > NOISE else 0.0


def ranking(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the forecasters from the best to the worst over all streams.

    By the geometric mean of each error over the smallest on its stream, at most 100 of each.

    Examples
    --------
    >>> ranking({"iid": {"a": 2.0, "b": 1.0}, "drift": {"a": 1.0, "b": 50.0}})
    ['a', 'b']
    """
    logs: dict[str, list[float]] = {}
    for row in means.values():
        for name, ratio in ratios(row).items():
            logs.setdefault(name, []).append(float(np.log(min(ratio, HOPELESS))))
    return sorted(logs, key=lambda name: float(np.mean(logs[name])))


def ratios(row: Mapping[str, float]) -> dict[str, float]:
    """Return each error over the smallest; 1 for a 0 that is the smallest, never for infinity.

    Examples
    --------
    >>> ratios({"a": 2.0, "b": 1.0}), ratios({"a": 2.0, "b": 0.0})
    ({'a': 2.0, 'b': 1.0}, {'a': inf, 'b': 1.0})
    """
    best = min(row.values())

    def over_best(error: float) -> float:
        if math.isinf(error):
            return math.inf
        return 1.0 if error == best else error / best if best > 0 else math.inf

    return {name: over_best(error) for name, error in row.items()}


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Read and check ``results.parquet`` of a folder.

    Examples
    --------
    >>> from calibrant.report.results import read_results
    >>> read_results("nowhere")
    Traceback (most recent call last):
    calibrant.tables.errors.InputError: nowhere/results.parquet: is not there...
    """
    path = Path(folder) / NAME
    if not path.exists():
        raise InputError(
            "is not there yet; the sweep has not finished, and its command goes on with it"
            if path.with_name(journal.NAME).exists()
            else "is not there; `calibrant compare` and `calibrant reproduce` write it",
            source=str(path),
        )
    arrow, parquet = import_pyarrow()
    try:
        table = parquet.read_table(path, page_checksum_verification=True)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(
            f"is not a whole Parquet file ({str(error).splitlines()[0]})", source=str(path)
        ) from None
    _check_columns(table, arrow, str(path))
    rows = table.select(list(COLUMNS)).to_pylist()
    return Results(list(_cells(rows, str(path))))


def _check_columns(table: Any, arrow: Any, source: str) -> None:
    """Refuse a table that lacks a column, or rows, or has something else in a column."""
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(
            f"lacks the columns {', '.join(missing)}; it has {', '.join(table.column_names)}",
            source=source,
        )
    if table.num_rows == 0:
        raise InputError("has no rows", source=source)
    fits = {
        "words": lambda kind: arrow.types.is_string(kind) or arrow.types.is_large_string(kind),
        "whole numbers": arrow.types.is_integer,
        "numbers": lambda kind: arrow.types.is_floating(kind) or arrow.types.is_integer(kind),
    }
    for name, kind in COLUMNS.items():
        column, content = table.column(name), CONTENTS[kind]
        empty = name in OPTIONAL and arrow.types.is_null(column.type)
        if not (fits[content](column.type) or empty):
            raise InputError(
                f"column {name!r} must hold {content}, holds {column.type}", source=source
            )
        if column.null_count and name not in OPTIONAL:
            row = column.is_null().to_pylist().index(True)
            raise InputError(f"column {name!r} must be filled, row {row} is empty", source=source)


def _cells(rows: Iterable[Mapping[str, Any]], source: str) -> Iterable[Played]:
    """Return the cells of a long table, the measures of each gathered."""
    cells: dict[tuple[Any, ...], dict[str, float]] = {}
    specs: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows):
        names = []
        for what in ("forecaster", "stream"):
            pair = row[what], row[f"{what}_parameters"]
            if pair not in specs:
                specs[pair] = _spec(*pair, f"{source}, row {number}")
            names.append(specs[pair])
        key = (*names, row["rounds"], row["seed"], row["deviation"], row["segments"])
        values = cells.setdefault(key, {})
        if row["measure"] in values:
            raise InputError(
                f"row {number} repeats {row['measure']} of {names[0]} on {names[1]}, "
                f"{row['rounds']} rounds, seed {row['seed']}", source=source,
            )  # fmt: skip
        if math.isnan(row["value"]):
            raise InputError(
                f"column 'value' must hold numbers, row {number} is NaN", source=source
            )
        values[row["measure"]] = row["value"]
    played = [
        Played(forecaster, stream, rounds, seed, deviation, segments, values)
        for (forecaster, stream, rounds, seed, deviation, segments), values in cells.items()
    ]
    return sorted(played, key=lambda cell: _kind(cell.stream))


def _kind(stream: str) -> int:
    """Return 0 for a synthetic stream, 1 for an adversary, 2 for a real one."""
    name = stream.partition(":")[0]
    return 0 if name in FAMILIES else 1 if name in ADVERSARIES else 2


def _spec(name: str, parameters: str, source: str) -> str:
    """Return a name and its parameters, which are JSON, as one spec."""
    try:
        return label(name, parameters)
    except (ValueError, AttributeError, KeyError, TypeError):
        raise InputError(
            f"parameters of {name!r} must be a JSON object, got {parameters!r}", source=source
        ) from None


def _by_size(
    cells: Iterable[tuple[Played, float]], measure: str
) -> dict[str, dict[float, list[float]]]:
    """Return the errors, ``[forecaster][size]``, one a seed."""
    errors: dict[str, dict[float, list[float]]] = {}
    for cell, size in cells:
        sizes = errors.setdefault(cell.forecaster, {})
        sizes.setdefault(size, []).append(cell.values[measure])
    return errors
