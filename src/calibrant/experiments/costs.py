"""The processor time of a round of `run`, kept in a file."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from calibrant.experiments.tasks import Task
from calibrant.tables.atomic import replacing
from calibrant.tables.frames import import_pyarrow

#: The name of the file.
COSTS = "costs.parquet"
# What identifies a row of it.
TIMED = ("forecaster", "stream", "rounds")
# How often each task is timed.
REPEATS = 3


def time_rounds(
    tasks: Iterable[Task],
    folder: str | os.PathLike[str],
    *,
    timed: Callable[[int, int], None] | None = None,
) -> dict[Task, float]:
    """Return ns a round of each task, the median of three runs; keep them in ``costs.parquet``.

    Tasks that are already in the file are not timed again. An adversary cannot be timed separately
    from the forecaster, so streams must be drawn in advance.
    """
    path = Path(folder) / COSTS
    costs, wanted, done = _read_costs(path), dict.fromkeys(tasks), 0
    for task in wanted:
        if task not in costs:
            costs[task] = _nanoseconds(task)
            _write_costs(path, costs)
        done += task.rounds
        if timed is not None:
            timed(done, sum(each.rounds for each in wanted))
    return costs


def _nanoseconds(task: Task) -> float:
    source = task.source()
    if source.outcomes is None:
        raise ValueError(f"stream {task.stream!r} must be drawn beforehand to be timed")
    taken = []
    for seed in range(REPEATS):
        forecaster = replace(task, seed=seed).make_forecaster(source.deviation)
        started = time.process_time_ns()
        forecaster.run(source.outcomes)
        taken.append((time.process_time_ns() - started) / task.rounds)
    return statistics.median(taken)


def _read_costs(path: Path) -> dict[Task, float]:
    if not path.exists():
        return {}
    _, parquet = import_pyarrow()
    rows = parquet.read_table(path).to_pylist()
    return {Task(*(row[name] for name in TIMED)): row["ns_per_round"] for row in rows}


def _write_costs(path: Path, costs: dict[Task, float]) -> None:
    arrow, parquet = import_pyarrow()
    rows = [
        {name: getattr(task, name) for name in TIMED} | {"ns_per_round": ns}
        for task, ns in sorted(costs.items())
    ]
    with replacing(path) as file:
        parquet.write_table(arrow.Table.from_pylist(rows), file)
