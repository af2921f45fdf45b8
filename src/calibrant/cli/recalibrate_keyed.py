"""``calibrant run FILE --score --key``: a fleet, one chunk of the file after the other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np

from calibrant import Fleet
from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.cli.arguments import Job
from calibrant.fleet.log import Log
from calibrant.report.recalibration_page import as_probabilities
from calibrant.streams.bundled import CATALOGUE
from calibrant.tables import InputError, Scored, Table
from calibrant.tables.chunks import Chunk, Write, chunks, writing

#: Options of a recalibrator that a fleet has no use for yet.
STRAY = ("id", "by", "due", "silence", "after", "hold", "smooth", "report")
#: How close to 0 and 1 a log loss looks.
EDGE = 1e-15


def recalibrate_keyed(job: Job) -> None:
    """Recalibrate a file that need not fit into memory, each key with an offset of its own."""
    assert job.key is not None
    for name in STRAY:
        if getattr(job, name) is not None:
            raise ValueError(f"--{name} does not go with --key")
    if job.source == "-" or job.source in CATALOGUE:
        raise ValueError("--key needs a FILE: CSV or Parquet")
    console.check_outputs(job.source, job.out)
    fleet = begun(job)
    log = Log(
        fleet, key=job.key, score=job.score, outcome=job.outcome,
        time=job.time, available=job.available, positive=job.positive,
    )  # fmt: skip
    kept = Measured(fleet.kind)
    with writer(job) as write, console.progress() as progress:
        task = progress.add_task(f"recalibrating {job.source}", total=1.0)
        for chunk in chunks(job.source, delimiter=job.delimiter):
            try:
                said, rows = log.play(chunk.table)
            except InputError as error:
                raise chunk.placed(error) from None
            if chunk.rows_before == 0:
                console.note(chunk.table.note)
                console.note(rows.note)
            if write is not None:
                write(with_predictions(job, chunk, said))
            kept.add(said, rows)
            progress.update(task, completed=chunk.share)
        after = log.finish()
    if kept.known == 0:
        raise InputError(
            "no outcome is known: every value is missing", source=job.source, column=log.outcome
        )
    if job.state is not None:
        fleet.save(job.state)
    show(job, fleet, kept, after)


def begun(job: Job) -> Fleet:
    """Return the fleet saved at `--state`, if there is one, otherwise a fresh one."""
    if job.state is None or not job.state.exists():
        return Fleet(job.seed, job.kind)
    fleet = Fleet.load(job.state)
    if job.kind not in ("probability", fleet.kind):
        raise ValueError(
            f"{job.state} recalibrates scores of kind {fleet.kind!r}, not {job.kind!r}"
        )
    console.note(
        f"{job.state}: goes on with {len(fleet):,} keys after {fleet.rounds:,} predictions and "
        f"{fleet.learned:,} outcomes"
    )
    return fleet


def writer(job: Job) -> AbstractContextManager[Write | None]:
    """Return what writes a table to `--out`, or nothing."""
    return nullcontext() if job.out is None else writing(job.out)


def with_predictions(job: Job, chunk: Chunk, said: Floats) -> Table:
    """Return the rows of a chunk with their probabilities."""
    console.check_column(chunk.table, job.column)
    return chunk.table.with_column(job.column, said)


@dataclass
class Measured:
    """Losses of raw and of calibrated probabilities, as sums: no row is kept."""

    kind: str
    rows: int = 0
    known: int = 0
    happened: float = 0.0
    sums: dict[str, Floats] = field(default_factory=dict)

    def add(self, said: Floats, rows: Scored) -> None:
        """Count the rows of a chunk."""
        self.rows += len(said)
        has = ~np.isnan(rows.outcomes)
        outcomes = rows.outcomes[has]
        self.known += len(outcomes)
        self.happened += float(outcomes.sum())
        raw = as_probabilities(rows.scores, self.kind)
        for name, values in (("raw", raw), ("calibrated", said)):
            if values is not None:
                before = self.sums.get(name, np.zeros(3))
                self.sums[name] = before + losses(values[has], outcomes)

    def mean(self, name: str) -> list[str]:
        """Return the mean losses of one column, as they are shown."""
        return [f"{value:.5f}" for value in self.sums[name] / max(self.known, 1)]


def losses(said: Floats, outcomes: Floats) -> Floats:
    """Return the sums of Brier scores, of log losses and of what was said."""
    p = np.clip(said, EDGE, 1 - EDGE)
    logs = -(outcomes * np.log(p) + (1 - outcomes) * np.log1p(-p))
    return np.array([((said - outcomes) ** 2).sum(), logs.sum(), said.sum()])


def show(job: Job, fleet: Fleet, kept: Measured, after: int) -> None:
    """Print what was read, the losses before and after, and where the results are."""
    console.say(
        f"{job.source}: {kept.rows:,} rows, {len(fleet):,} keys in {job.key!r}, scores "
        f"{job.score!r} (mean outcome {kept.happened / kept.known:.4f})"
    )
    if kept.known < kept.rows:
        console.say(f"rows without an outcome: {kept.rows - kept.known:,}")
    if after:
        console.say(f"outcomes that arrived only after the last prediction: {after:,}")
    if fleet.expired:
        console.say(f"predictions given up because too many waited: {fleet.expired:,}")
    head = ["", *kept.sums]
    columns = [kept.mean(name) for name in kept.sums]
    names = ("Brier score", "log loss", "mean of what was said")
    rows = [[name, *values] for name, *values in zip(names, *columns, strict=True)]
    console.out.print("", console.table("Before and after (losses: lower is better)", head, rows))
    console.say(f"\nthe fleet takes {fleet.nbytes / 1e6:,.1f} MB")
    if job.out is None and job.state is None:
        console.say("To keep the rows: --out FILE.parquet; to go on later: --state FILE")
    if job.out is not None:
        console.say(f"{job.out}: every row, with its probability in column {job.column!r}")
    if job.state is not None:
        console.say(f"{job.state}: the fleet, for the next run")
