"""Play many cells in parallel; survive a crash; write the same results whoever played them.

A folder holds one plan. Every finished cell goes at once into its journal, so that a sweep which
was interrupted, or killed, continues where it stopped. Once all cells are there, the results are
written in one step and the journal is removed. A plan may grow: what is finished is used again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from calibrant._checks import check_choice
from calibrant.experiments import journal, results
from calibrant.experiments.cells import DEFAULT_MEASURES, Cell
from calibrant.experiments.engines.batches import Batch, Report, Task, batches_of
from calibrant.experiments.engines.local import LocalEngine
from calibrant.experiments.engines.ray import RayEngine
from calibrant.experiments.pace import Pace, Progress
from calibrant.experiments.plans import check_makeable, check_same_plan, identified
from calibrant.experiments.results import Identity
from calibrant.tables.frames import import_pyarrow

__all__ = ["ENGINES", "Progress", "SweepError", "count_kept", "sweep"]


# Cells that failed and are named in a message.
MOST_NAMED = 10


class Engine(Protocol):
    """Where cells are played."""

    workers: int

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def run(self, batches: Sequence[Batch]) -> Generator[list[Report]]:
        """Play batches; yield the reports of each as it is done, in any order."""


#: Where cells can be played.
ENGINES: dict[str, Callable[[int | None], Engine]] = {"local": LocalEngine, "ray": RayEngine}


class SweepError(RuntimeError):
    """Some cells failed; the others are kept, and a rerun plays only those that failed.

    Examples
    --------
    >>> from calibrant.experiments.sweep import SweepError
    >>> issubclass(SweepError, RuntimeError)
    True
    """


def sweep(
    cells: Iterable[Cell],
    folder: str | os.PathLike[str],
    *,
    measures: Sequence[str] | Callable[[Cell], Sequence[str]] = DEFAULT_MEASURES,
    engine: str = "local",
    workers: int | None = None,
    advance: Callable[[Progress], None] | None = None,
) -> None:
    """Play cells and write their measures to ``folder/results.parquet``.

    The same cells give the same bytes, whatever the engine, the number of workers, and however
    often the sweep was interrupted. Cells that are the same are played once.

    Parameters
    ----------
    cells : iterable of Cell
        What to play.
    folder : path
        Where to; made if it is not there. What an earlier sweep finished there is not played
        again, but all of it must belong to this plan.
    measures : sequence of str, or callable
        Which of `calibrant.experiments.cells.MEASURES` to take, of all cells or by cell.
    engine : {"local", "ray"}
        Where cells are played: on the cores of this machine or on a Ray cluster.
    workers : int, optional
        How many cells are played at a time; as many as there are cores by default.
    advance : callable, optional
        Called with a `Progress` at the start and after every batch of cells.

    Raises
    ------
    ValueError
        Before anything is played: a cell that cannot be made, a folder with another plan, another
        sweep at work in the folder.
    SweepError
        When some cells failed: it names them. All others are kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.experiments.cells import plan
    >>> from calibrant.experiments.sweep import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep(plan(["zoom", "epoch"], ["drift"], [100], seeds=3), folder, workers=1)
    ...     [path.name for path in Path(folder).iterdir()]
    ['results.parquet']
    """
    import_pyarrow()
    check_choice("engine", engine, tuple(ENGINES))
    crew = ENGINES[engine](workers)
    wanted = identified(cells, measures)
    check_makeable(wanted.values())
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"folder must be a folder, or a place for one; {where} is not") from None
    kept = results.finished_in(where)
    check_same_plan(kept, wanted, where)
    tell = advance or (lambda _progress: None)
    if kept.keys() == wanted.keys() and not (where / journal.NAME).exists():
        tell(Progress(len(wanted), len(wanted), 1.0, 0.0))
        return
    with journal.opened(where) as book:
        # Again, now that nobody else can change it.
        finished = results.finished_in(where) | book.finished
        check_same_plan(finished, wanted, where)
        todo = [identity for identity in wanted if identity not in finished]
        if todo:
            with crew:
                problems = play_all(todo, wanted, crew, book, tell)
            if problems:
                raise SweepError(complaint(problems, len(wanted), where))
        results.write(where, results.finished_in(where) | book.finished)
        book.remove()


def count_kept(folder: str | os.PathLike[str]) -> int:
    """Return how many cells are finished in a folder, whether or not its sweep is.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments.sweep import count_kept
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count_kept(folder)
    0
    """
    where = Path(folder)
    finished = set(results.finished_in(where))
    if (where / journal.NAME).exists():
        with (where / journal.NAME).open("rb") as file:
            finished |= journal.read(file)[0].keys()
    return len(finished)


def play_all(
    todo: Sequence[Identity],
    wanted: dict[Identity, Cell],
    crew: Engine,
    book: journal.Journal,
    tell: Callable[[Progress], None],
) -> list[str]:
    """Play cells, note each in the journal as it is finished; return what went wrong."""
    tasks = [
        Task(
            number,
            wanted[identity],
            identity.measures,
            json.loads(identity.stream_parameters).get("sha256"),
        )
        for number, identity in enumerate(todo)
    ]
    measures = {name for identity in todo for name in identity.measures}
    pace = Pace((task.cell for task in tasks), measures, crew.workers)
    problems: list[str] = []
    done = len(wanted) - len(todo)
    tell(pace.progress(done, len(wanted)))
    # Closed at once, whatever happens here: then no worker goes on.
    with closing(crew.run(batches_of(tasks, crew.workers))) as finished:
        for reports in finished:
            book.add((todo[r.number], r.values) for r in reports if r.error is None)
            for report in reports:
                cell = wanted[todo[report.number]]
                pace.finish(cell, report.seconds)
                if report.error is not None:
                    problems.append(f"{cell}: {report.error}")
            done += sum(report.error is None for report in reports)
            tell(pace.progress(done, len(wanted)))
    return sorted(problems)


def complaint(problems: Sequence[str], of: int, folder: Path) -> str:
    """Return what is said of cells that failed: how many, which, and what to do."""
    more = f"\nand {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
    return (
        f"{len(problems)} of {of} cells failed; the others are kept in {folder}, "
        f"and a rerun plays only these:\n" + "\n".join(problems[:MOST_NAMED]) + more
    )
