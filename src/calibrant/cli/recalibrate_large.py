"""``calibrant run FILE --score`` with a FILE of many rows: one chunk after the other, in sums.

A report, JSON, groups and ids ask for all rows at once, which `calibrant.cli.recalibrate_file` has.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from calibrant import Fleet, Recalibrator
from calibrant.cli import console
from calibrant.cli.arguments import Job
from calibrant.cli.recalibrate_file import show_places
from calibrant.cli.state import begin, keep
from calibrant.forecasters.memories import heaviest_in_words
from calibrant.recalibrate.log import Judged, Log, Played
from calibrant.report.keyed_page import Column
from calibrant.tables import InputError, Table
from calibrant.tables.chunks import Write, writing
from calibrant.tables.packed import packing_of
from calibrant.tables.reading import kind_of

#: Bytes of a file that is read in chunks; packed ones hold about four times as much.
LARGE, PACKED = 2**26, 4
HOW = "the file is large, so rows are measured in sums; --report measures them one by one"


def is_large(job: Job) -> bool:
    """Return whether a file has so many rows that they are better not held all at once."""
    wanted = (job.report, job.id, job.by, job.json or None)
    path = Path(job.source)
    if any(each is not None for each in wanted) or not path.is_file():
        return False
    size = path.stat().st_size * (1 if packing_of(job.source) is None else PACKED)
    return kind_of(job.source) in ("csv", "tsv", "parquet") and size > LARGE


def recalibrate_large(job: Job) -> None:
    """Recalibrate a file that need not fit into memory."""
    console.check_outputs(job.source, job.out)
    job, recalibrator = begin(job)
    log = Log(
        recalibrator, score=job.score, outcome=job.outcome, time=job.time, available=job.available,
        due=job.due, positive=job.positive, smooth=job.smooth is not None,
    )  # fmt: skip
    console.note(f"{job.source}: {HOW}")
    kept = Measured(job.kind)
    play_chunks(job, log, kept)
    keep(job, recalibrator)
    console.say(
        f"{job.source}: {kept.rows:,} rounds, scores {job.score!r}, outcomes {log.outcome!r}"
        f"{kept.mean_in_words}"
    )
    show_outcomes(job, kept, recalibrator)
    show_losses(kept)
    rests_on = heaviest_in_words(recalibrator.weights())
    console.say(f"\nThe probabilities now rest on {rests_on}.", fold=True)
    show_places(job)


class Plays(Protocol):
    """A log: of a recalibrator, or of a fleet."""

    outcome: str | None
    answers: Counter[str]

    def play(self, table: Table) -> Played:
        """Predict the rows of a table."""

    def finish(self) -> tuple[int, Judged]:
        """Return how many outcomes come after the last row, and rows that still wait."""


@dataclass
class Measured:
    """What was said and what happened, raw and calibrated, as sums: no row is kept."""

    kind: str
    rows: int = 0
    known: int = 0
    missing: int = 0  # rows without an outcome
    after: int = 0  # outcomes that arrived only after the last prediction
    happened: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)  # to outcomes by id, or too late
    columns: dict[str, Column] = field(default_factory=dict)

    def add(self, judged: Judged) -> None:
        """Count rows whose outcomes are settled."""
        self.known += len(judged.outcomes)
        self.happened += float(judged.outcomes.sum())
        for name, values in (("raw", judged.raw), ("calibrated", judged.predictions)):
            if name != "raw" or self.kind != "margin":
                self.columns.setdefault(name, Column()).add(values, judged.outcomes)

    @property
    def mean_in_words(self) -> str:
        """The mean outcome, in brackets; nothing if none is known."""
        return f" (mean outcome {self.happened / self.known:.4f})" if self.known else ""


def play_chunks(job: Job, log: Plays, kept: Measured) -> None:
    """Play the rows of a file some at a time; write them where that is asked for."""
    with writer(job) as write, console.progress() as progress:
        task = progress.add_task(f"recalibrating {job.source}", total=1.0)
        for chunk in console.read_chunks(job.source, job.delimiter):
            if write is not None:
                console.check_column(chunk.table, job.column)
            try:
                played = log.play(chunk.table)
            except InputError as error:
                raise chunk.placed(error) from None
            if chunk.rows_before == 0:
                console.note(chunk.table.note)
                console.note(played.rows.note)
            if write is not None:
                table = chunk.table.with_column(job.column, played.predictions)
                if job.smooth is not None and played.smooth is not None:
                    table = table.with_column(job.smooth, played.smooth)
                write(table)
            kept.rows += len(played.predictions)
            kept.missing += int(np.count_nonzero(np.isnan(played.rows.outcomes)))
            kept.add(played.judged)
            progress.update(task, completed=chunk.share)
        kept.after, still_open = log.finish()
        kept.add(still_open)
        kept.answers = dict(log.answers)
        check_known(job, log, kept)  # or nothing is written


def writer(job: Job) -> AbstractContextManager[Write | None]:
    """Return what writes a table to `--out`, or nothing."""
    return nullcontext() if job.out is None else writing(job.out)


def check_known(job: Job, log: Plays, kept: Measured) -> None:
    """Refuse a file of which nothing can be measured, unless its rows wait for what is to come."""
    may_wait = job.id is not None or job.silence is not None
    if kept.known == 0 and (not may_wait or job.report is not None):
        raise InputError(
            "no outcome is known: every value is missing", source=job.source, column=log.outcome
        )


def show_outcomes(job: Job, kept: Measured, learner: Recalibrator | Fleet) -> None:
    """Print which predictions wait, and what became of outcomes that are missing or came late."""
    console.say_answers(kept.answers, job.id is not None)
    if job.silence is not None:
        console.say(f"predictions whose deadline is still to come: {learner.pending:,}")
    elif job.id is not None or job.hold is not None:
        held = " or deadlines" if job.hold is not None else ""
        console.say(f"predictions that wait for their outcomes{held}: {learner.pending:,}")
    if job.id is None and job.silence is None and kept.missing:
        console.say(f"rows without an outcome: {kept.missing:,}")
    if kept.after:
        console.say(f"outcomes that arrived only after the last prediction: {kept.after:,}")
    if learner.expired:
        console.say(f"predictions given up because too many waited: {learner.expired:,}")


def show_losses(kept: Measured) -> None:
    """Print the losses before and after."""
    names = ("Brier score", "log loss", "mean of what was said")
    columns = [column.means().values() for column in kept.columns.values()]
    rows = [
        [name, *(f"{value:.5f}" for value in values)]
        for name, *values in zip(names, *columns, strict=True)
    ]
    if kept.known:
        title = "Before and after (losses: lower is better)"
        console.out.print("", console.table(title, ["", *kept.columns], rows))
