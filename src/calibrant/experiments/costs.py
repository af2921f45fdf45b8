"""What a round costs: ns of `run` by the number of rounds, timed in this process, one at a time."""

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

__all__ = ["time_rounds"]

#: The name of the file in a folder of results.
NAME = "costs.parquet"
REPEATS = 5


def time_rounds(
    tasks: Iterable[Task],
    folder: str | os.PathLike[str],
    *,
    timed: Callable[[int, int], None] | None = None,
) -> dict[Task, float]:
    """Return ns a round of each, the median of five runs; keep them in ``folder/costs.parquet``.

    What the file already has is not timed again. Adversaries cannot be timed apart from the
    forecaster, so a stream must be one that is drawn beforehand.

    Parameters
    ----------
    tasks : iterable of Task
        What to time, each with seed 0; the runs of a forecaster have seeds of their own.
    folder : path
        Where the file is, an existing folder.
    timed : callable, optional
        Called with the number of rounds that were timed and of all that will be.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments import Task
    >>> from calibrant.experiments.costs import time_rounds
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     costs = time_rounds([Task("zoom", "iid:mean=0.5", 1000)], folder)
    >>> [cost > 1 for cost in costs.values()]
    [True]
    """
    path = Path(folder) / NAME
    costs, wanted, done = _read(path), dict.fromkeys(tasks), 0
    for task in wanted:
        if task not in costs:
            costs[task] = _nanoseconds(task)
            _write(path, costs)
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
        started = time.perf_counter_ns()
        forecaster.run(source.outcomes)
        taken.append((time.perf_counter_ns() - started) / task.rounds)
    return statistics.median(taken)


def _read(path: Path) -> dict[Task, float]:
    if not path.exists():
        return {}
    _, parquet = import_pyarrow()
    rows = parquet.read_table(path).to_pylist()
    return {
        Task(row["forecaster"], row["stream"], row["rounds"]): row["ns_per_round"] for row in rows
    }


def _write(path: Path, costs: dict[Task, float]) -> None:
    arrow, parquet = import_pyarrow()
    rows = [
        {
            "forecaster": t.forecaster,
            "stream": t.stream,
            "rounds": t.rounds,
            "ns_per_round": costs[t],
        }
        for t in sorted(costs)
    ]
    with replacing(path) as file:
        parquet.write_table(arrow.Table.from_pylist(rows), file)
