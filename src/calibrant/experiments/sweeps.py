"""Run many tasks in parallel; survive a crash; write the same bytes on any engine.

A folder holds one plan. Every result is immediately written to its journal, so that a sweep that
was interrupted or killed resumes where it stopped. Once all results are there, they are written in
one step and the journal is removed. A plan may grow: finished tasks are reused.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from calibrant._checks import check_choice
from calibrant.experiments import journal
from calibrant.experiments.engines.batches import Job
from calibrant.experiments.engines.local import LocalEngine
from calibrant.experiments.engines.ray import RayEngine
from calibrant.experiments.parquet import finished_in, write_results
from calibrant.experiments.tasks import (
    DEFAULT_MEASURES,
    TASK_MEASURES,
    Identity,
    Task,
    stream_columns,
)
from calibrant.forecasters.named import make
from calibrant.streams.named import find, length
from calibrant.tables.frames import import_pyarrow

# Tasks that failed and are named in a message.
MOST_NAMED = 10


Engine = LocalEngine | RayEngine
#: Where tasks can run.
ENGINES: dict[str, Callable[[int | None], Engine]] = {"local": LocalEngine, "ray": RayEngine}


class SweepError(RuntimeError):
    """Some tasks failed; the results of the others are kept, and a rerun only runs the failed ones.

    Examples
    --------
    >>> from calibrant.experiments import SweepError
    >>> issubclass(SweepError, RuntimeError)
    True
    """


class Progress(NamedTuple):
    """The progress of a sweep.

    Examples
    --------
    >>> from calibrant.experiments import Progress
    >>> Progress(tasks=3, of=10, work=0.5, seconds_left=60.0).work
    0.5
    """

    tasks: int  # finished so far, including those of an earlier run
    of: int
    work: float  # the share of the total time of this run that has passed
    seconds_left: float | None  # not known before the first task is finished


class Pace:
    """The remaining time: the remaining rounds at the pace of each forecaster so far.

    A forecaster without finished tasks is assumed to have the average pace.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._waiting, self._done = Counter[str](), Counter[str]()
        self._seconds: dict[str, float] = {}
        for task in tasks:
            self._waiting[task.forecaster] += task.rounds

    def finish(self, task: Task, seconds: float) -> None:
        """Note how long a task took."""
        self._waiting[task.forecaster] -= task.rounds
        self._done[task.forecaster] += task.rounds
        self._seconds[task.forecaster] = self._seconds.get(task.forecaster, 0.0) + seconds

    def progress(self, tasks: int, of: int, workers: int) -> Progress:
        """Return the progress with this many finished tasks."""
        done = sum(self._seconds.values())
        if not done:
            return Progress(tasks, of, 1.0 if tasks == of else 0.0, None)
        overall = done / self._done.total()
        left = sum(
            rounds * (self._seconds[name] / self._done[name] if self._done[name] else overall)
            for name, rounds in self._waiting.items()
        )
        work = 1.0 if tasks == of else done / (done + left)
        return Progress(tasks, of, work, left / workers)


def sweep(
    tasks: Iterable[Task],
    folder: str | os.PathLike[str],
    *,
    measures: Sequence[str] | Callable[[Task], Sequence[str]] = DEFAULT_MEASURES,
    engine: str = "local",
    workers: int | None = None,
    advance: Callable[[Progress], None] | None = None,
) -> None:
    """Run tasks and write their measures to ``folder/results.parquet``.

    The same tasks give the same bytes, whatever the engine, the number of workers, and however
    often the sweep was interrupted. Identical tasks run once.

    Parameters
    ----------
    tasks : iterable of Task
        What to run.
    folder : path
        The folder of the results; created if necessary. Tasks that an earlier sweep finished there
        are not run again, but all of them must belong to this plan.
    measures : sequence of str, or callable
        Which of `calibrant.experiments.TASK_MEASURES` to compute, for all tasks or for each task.
    engine : {"local", "ray"}
        Where tasks run: on the cores of this machine or on a Ray cluster.
    workers : int, optional
        How many tasks run in parallel; by default, the number of cores.
    advance : callable, optional
        Called with a `Progress` at the start and after every batch of tasks.

    Raises
    ------
    ValueError
        Before anything runs: a task that cannot be made, a folder with another plan, another
        sweep at work in the folder.
    SweepError
        When some tasks failed: it names them. All others are kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.experiments import plan, sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep(plan(["zoom", "epoch"], ["drift"], [100], seeds=3), folder, workers=1)
    ...     [path.name for path in Path(folder).iterdir()]
    ['results.parquet']
    """
    import_pyarrow()
    check_choice("engine", engine, tuple(ENGINES))
    chosen_engine = ENGINES[engine](workers)
    wanted = identified(tasks, measures)
    check_makeable(wanted.values())
    folder, show = Path(folder), advance or (lambda _progress: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"folder must be a folder, or a place for one; {folder} is not") from None
    kept = finished_in(folder)
    check_same_plan(kept, wanted, folder)
    if kept.keys() == wanted.keys() and not (folder / journal.NAME).exists():
        show(Progress(len(wanted), len(wanted), 1.0, 0.0))
        return
    with journal.opened(folder) as unfinished:
        # Again, now that no other sweep can change it.
        kept = finished_in(folder)
        check_same_plan(kept | unfinished.finished, wanted, folder)
        todo = [
            Job(identity, task)
            for identity, task in wanted.items()
            if identity not in kept and identity not in unfinished.finished
        ]
        problems = run_jobs(todo, len(wanted), chosen_engine, unfinished, show) if todo else []
        if problems:
            raise SweepError(complaint(problems, len(wanted), folder))
        write_results(folder, (kept | unfinished.finished).values())
        unfinished.remove()


def count_finished(folder: str | os.PathLike[str]) -> int:
    """Return how many tasks are finished in a folder, even if its sweep is not."""
    return len(finished_in(Path(folder)).keys() | journal.read(Path(folder)).keys())


def identified(
    tasks: Iterable[Task], measures: Sequence[str] | Callable[[Task], Sequence[str]]
) -> dict[Identity, Task]:
    """Return the tasks by identity, without duplicates; refuse invalid specs."""
    wanted: dict[Identity, Task] = {}
    streams: dict[str, tuple[str, str]] = {}  # a file is read once, not for every task
    if not callable(measures):
        check_measures(measures)
    for task in tasks:
        if not isinstance(task, Task):
            raise ValueError(f"tasks must be Tasks, got {task!r}")
        chosen = check_measures(measures(task)) if callable(measures) else measures
        if task.stream not in streams:
            streams[task.stream] = stream_columns(task.stream)
        wanted.setdefault(Identity.of(task, chosen, streams[task.stream]), task)
    if not wanted:
        raise ValueError("tasks must not be empty: there is nothing to run")
    return wanted


def check_measures(measures: Sequence[str]) -> Sequence[str]:
    """Return the names of measures, or say which is unknown."""
    for name in measures:
        check_choice("measures", name, TASK_MEASURES)
    if not measures:
        raise ValueError("measures must not be empty")
    return measures


def check_makeable(tasks: Iterable[Task]) -> None:
    """Refuse a stream or a forecaster that cannot be constructed, before anything runs."""
    tasks = list(tasks)
    rounds_of: dict[str, list[int]] = {}
    for task in tasks:
        rounds_of.setdefault(task.stream, []).append(task.rounds)
    deviations = {}
    for stream, rounds in rounds_of.items():
        # A longer stream allows more parameters, so the shortest one decides, and is cheap.
        deviations[stream] = find(stream, rounds=min(rounds)).deviation
        most = length(stream)
        if most is not None and max(rounds) > most:
            raise ValueError(f"stream {stream!r} has {most} rounds, not {max(rounds)}")
    # Whether a forecaster can be constructed depends only on T and C, not on seed or stream.
    for forecaster, T, C in {(t.forecaster, t.rounds, deviations[t.stream]): None for t in tasks}:
        make(forecaster, rounds=T, deviation=C)


def check_same_plan(
    finished: Iterable[Identity], wanted: dict[Identity, Task], folder: Path
) -> None:
    """Refuse a folder with tasks of another plan: results belong to one complete plan."""
    strange = [identity for identity in finished if identity not in wanted]
    if strange:
        first = strange[0]
        raise ValueError(
            f"{folder} holds {len(strange)} finished tasks of another plan, for instance "
            f"{first.forecaster} {first.forecaster_parameters} on {first.stream} "
            f"{first.stream_parameters}, {first.rounds:,} rounds, seed {first.seed}"
            f"{difference(first, wanted)}; "
            "choose another folder, remove this one, or ask for these tasks too"
        )


def difference(identity: Identity, wanted: Iterable[Identity]) -> str:
    """Say why a task is not in a plan, if a task of the plan differs in a single column."""
    for other in wanted:
        names = [
            name for name in Identity._fields if getattr(identity, name) != getattr(other, name)
        ]
        if names in (["calibrant"], ["numpy"], ["measures"]):
            name = names[0]
            return f" ({name} {getattr(identity, name)}, now {getattr(other, name)})"
        if names == ["stream_parameters"] and identity.stream == "file":
            return " (the file has changed)"
    return ""


def run_jobs(
    jobs: Sequence[Job],
    of: int,
    engine: Engine,
    unfinished: journal.Journal,
    advance: Callable[[Progress], None],
) -> list[str]:
    """Run jobs and add each result to the journal when it arrives; return the errors."""
    pace = Pace(job.task for job in jobs)
    problems: list[str] = []
    done = of - len(jobs)
    advance(pace.progress(done, of, engine.workers))
    # Always closed, which stops the workers.
    with closing(engine.run(jobs)) as parts:
        for finished in parts:
            results = [each.result for each in finished if each.result is not None]
            unfinished.add(results)
            done += len(results)
            for each in finished:
                pace.finish(each.job.task, each.seconds)
                if each.error is not None:
                    problems.append(f"{each.job.task}: {each.error}")
            advance(pace.progress(done, of, engine.workers))
    return sorted(problems)


def complaint(problems: Sequence[str], of: int, folder: Path) -> str:
    """Return the message about failed tasks: how many, which, and what to do."""
    more = f"\nand {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
    return (
        f"{len(problems)} of {of} tasks failed; the others are kept in {folder}, "
        f"and a rerun runs only these:\n" + "\n".join(problems[:MOST_NAMED]) + more
    )
