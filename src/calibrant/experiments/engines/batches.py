"""What an engine hands to a worker, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from calibrant.experiments.cells import Cell, play
from calibrant.experiments.pace import guess
from calibrant.streams import named

# Handing a batch over takes about a millisecond; a crash loses what its batches had done.
SECONDS_A_BATCH = 0.25
# So many batches a worker at least, or the last ones leave workers idle.
BATCHES_A_WORKER = 8


class Task(NamedTuple):
    """A cell to play."""

    number: int
    cell: Cell
    measures: tuple[str, ...]
    content: str | None  # the SHA-256 that a file must have, for a stream from a file


class Report(NamedTuple):
    """What became of a task: its values, or the error that ended it."""

    number: int
    values: dict[str, float]
    error: str | None
    seconds: float


Batch = tuple[Task, ...]


def play_batch(batch: Batch) -> list[Report]:
    """Play the cells of a batch; one that fails does not stop the others."""
    return [play_task(task) for task in batch]


def play_task(task: Task) -> Report:
    """Play a cell, and turn an error into a report."""
    started = time.perf_counter()
    try:
        if task.content is not None:
            _, parameters = named.parameters(task.cell.stream)
            if parameters["sha256"] != task.content:
                raise ValueError(f"{parameters['path']} changed while the sweep was running")
        values, error = play(task.cell, task.measures), None
    except Exception as problem:  # whatever it is, the others go on
        values, error = {}, f"{type(problem).__name__}: {problem}"
    return Report(task.number, values, error, time.perf_counter() - started)


def failed(task: Task, error: str) -> Report:
    """Return the report of a task that could not be played."""
    return Report(task.number, {}, error, 0.0)


def batches_of(tasks: Sequence[Task], workers: int) -> list[Batch]:
    """Return tasks in batches, the longest first; short ones together, by stream."""
    seconds = {task.number: guess(task.cell, task.measures) for task in tasks}
    size = min(SECONDS_A_BATCH, sum(seconds.values()) / (workers * BATCHES_A_WORKER))
    long = [task for task in tasks if seconds[task.number] >= size]
    batches: list[Batch] = [(task,) for task in long]
    together: list[Task] = []
    filled = 0.0
    # Forecasters on the same outcomes follow each other: the outcomes are drawn once.
    for task in sorted(
        (task for task in tasks if seconds[task.number] < size),
        key=lambda task: (task.cell.stream, task.cell.rounds, task.cell.seed, task.number),
    ):
        together.append(task)
        filled += seconds[task.number]
        if filled >= size:
            batches.append(tuple(together))
            together, filled = [], 0.0
    if together:
        batches.append(tuple(together))
    return sorted(batches, key=lambda batch: -sum(seconds[task.number] for task in batch))
