"""What a round costs: ns of `run` by the number of rounds, timed in this process, one at a time."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from calibrant.forecasters import named as forecasters
from calibrant.streams import named as streams
from calibrant.tables.atomic import replacing
from calibrant.tables.frames import import_pyarrow

__all__ = ["Timing", "time_rounds"]

#: The name of the file in a folder of results.
NAME = "costs.parquet"
REPEATS = 5


class Timing(NamedTuple):
    """A forecaster on a stream of so many rounds: what is timed.

    Examples
    --------
    >>> from calibrant.experiments.costs import Timing
    >>> Timing("zoom", "iid:mean=0.5", 1000).rounds
    1000
    """

    forecaster: str
    stream: str
    rounds: int


def time_rounds(
    timings: Iterable[Timing],
    folder: str | os.PathLike[str],
    *,
    advance: Callable[[int], None] | None = None,
) -> dict[Timing, float]:
    """Return ns a round of each, the median of five runs; keep them in ``folder/costs.parquet``.

    What the file already has is not timed again. Adversaries cannot be timed apart from the
    forecaster, so a stream must be one that is drawn beforehand.

    Parameters
    ----------
    timings : iterable of Timing
        What to time.
    folder : path
        Where the file is, an existing folder.
    advance : callable, optional
        Called with the number of rounds of each that is done.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments.costs import Timing, time_rounds
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     costs = time_rounds([Timing("zoom", "iid:mean=0.5", 1000)], folder)
    >>> [cost > 1 for cost in costs.values()]
    [True]
    """
    path = Path(folder) / NAME
    costs = _read(path)
    for timing in timings:
        if timing not in costs:
            costs[timing] = _nanoseconds(timing)
            _write(path, costs)
        if advance is not None:
            advance(timing.rounds)
    return costs


def _nanoseconds(timing: Timing) -> float:
    source = streams.find(timing.stream, rounds=timing.rounds)
    if source.outcomes is None:
        raise ValueError(f"stream {timing.stream!r} must be drawn beforehand to be timed")
    taken = []
    for seed in range(REPEATS):
        forecaster = forecasters.make(
            timing.forecaster, seed=seed, rounds=timing.rounds, deviation=source.deviation
        )
        started = time.perf_counter_ns()
        forecaster.run(source.outcomes)
        taken.append((time.perf_counter_ns() - started) / timing.rounds)
    return statistics.median(taken)


def _read(path: Path) -> dict[Timing, float]:
    if not path.exists():
        return {}
    _, parquet = import_pyarrow()
    rows = parquet.read_table(path).to_pylist()
    return {
        Timing(row["forecaster"], row["stream"], row["rounds"]): row["ns_per_round"] for row in rows
    }


def _write(path: Path, costs: dict[Timing, float]) -> None:
    arrow, parquet = import_pyarrow()
    rows = [timing._asdict() | {"ns_per_round": costs[timing]} for timing in sorted(costs)]
    with replacing(path) as file:
        parquet.write_table(arrow.Table.from_pylist(rows), file)
