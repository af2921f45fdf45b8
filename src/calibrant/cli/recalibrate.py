"""``calibrant run --score``: recalibrate a model's scores in a file, and show before and after."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np

from calibrant import Recalibrator, __version__
from calibrant._checks import Floats, check_choice
from calibrant._kernels.recalibrate import KINDS
from calibrant.cli import before_after, console
from calibrant.cli.arguments import read_source
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.report.before_after import BeforeAfter
from calibrant.report.page import Page
from calibrant.report.recalibration import recalibration_page
from calibrant.report.style import styled
from calibrant.report.what_changed import what_changed
from calibrant.tables import InputError, Scored, Table, replacing, take_scored, write
from calibrant.tables.writing import kind_to_write


@dataclass(frozen=True)
class Job:
    """What a user asked for."""

    source: str
    score: str
    outcome: str | None = None
    id: str | None = None
    time: str | None = None
    available: str | None = None
    by: str | None = None
    kind: str = "probability"
    seed: int = 0
    column: str = "calibrated"
    out: Path | None = None
    report: Path | None = None

    def __post_init__(self) -> None:
        check_choice("--kind", self.kind, KINDS)
        if self.available is not None and self.time is None:
            raise ValueError(
                "--available needs --time: an outcome is late for predictions made before it"
            )

    @property
    def command(self) -> str:
        """The command that does this job again."""
        words = ["calibrant", "run", self.source]
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value != field.default:
                words += [f"--{field.name}", str(value)]
        return shlex.join(words)


def recalibrate_file(job: Job) -> None:
    """Recalibrate a whole file; write and report what was asked for, show the rest."""
    if job.out is not None:
        check_out(job.source, job.out)  # before the work, not after it
    with console.busy(f"reading {job.source}"):
        table = read_source(job.source)
        if job.out is not None and job.column in table.columns:
            raise ValueError(
                f"{job.source} has a column {job.column!r} already; name another with --column"
            )
        rows = take_scored(
            table, score=job.score, outcome=job.outcome, id=job.id, time=job.time,
            available=job.available, by=job.by, kind=job.kind,
        )  # fmt: skip
        if np.isnan(rows.outcomes).all():
            raise InputError(
                "no outcome is known: every cell is empty",
                source=table.source, column=rows.outcome_column,
            )  # fmt: skip
    console.note(rows.note)
    # The report is opened first: whoever cannot write there should not find the rest written.
    with opened(job.report) as report:
        with console.busy("recalibrating"):
            recalibrator = Recalibrator(job.kind, seed=job.seed, capacity=len(table))
            calibrated = recalibrate_rows(
                recalibrator, rows.scores, rows.outcomes, rows.arrivals, rows.groups
            )
        with console.busy("measuring"):
            result = Result.of(job, table, rows, calibrated)
            page = result.page().html().encode() if report is not None else b""
        if job.out is not None:
            with console.busy(f"writing {job.out}"):
                write(job.out, table.with_column(job.column, calibrated))
        if report is not None:
            report.write(page)
    console.say(result.headline())
    before_after.show(result.both, result.points)
    show_where(job)


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a job, on the rows whose outcomes are known."""

    job: Job
    table: Table
    rows: Scored
    raw: Floats | None
    calibrated: Floats
    outcomes: Floats
    both: BeforeAfter
    points: list[str]

    @classmethod
    def of(cls, job: Job, table: Table, rows: Scored, calibrated: Floats) -> Result:
        """Measure what came of a job."""
        known = np.flatnonzero(~np.isnan(rows.outcomes))
        scores, calibrated, outcomes = (
            column[known] for column in (rows.scores, calibrated, rows.outcomes)
        )
        raw = raw_probabilities(scores, job.kind)
        groups = None if rows.groups is None else [rows.groups[row] for row in known]
        both = BeforeAfter.from_predictions(raw, calibrated, outcomes, groups=groups)
        points = what_changed(
            both,
            never=rows.arrivals.never,
            place=lambda at: name_of(table, rows, int(known[at])),
        )
        return cls(job, table, rows, raw, calibrated, outcomes, both, points)

    def headline(self) -> str:
        """Return what was read, and how outcomes came."""
        lines = [
            f"{self.table.source}: {len(self.table):,} rounds, scores {self.job.score!r}, outcomes "
            f"{self.rows.outcome_column!r} (mean {self.both.mean_outcome:.4f})"
        ]
        never, too_late = missing_outcomes(self.rows.arrivals.never), self.rows.arrivals.too_late
        if never:
            lines.append(never)
        if self.job.available is not None and too_late:
            lines.append(f"outcomes that arrived only after the last prediction: {too_late:,}")
        return "\n".join(lines) + "\n"

    def page(self) -> Page:
        """Return the report."""
        return recalibration_page(
            self.both, self.raw, self.calibrated, self.outcomes,
            title=f"{Path(self.table.source).name}: scores before and after recalibration",
            points=self.points, made=self.made(),
        )  # fmt: skip

    def made(self) -> dict[str, str]:
        """Return how the run was made."""
        job = self.job
        columns = {
            "score": job.score, "outcome": self.rows.outcome_column, "id": job.id,
            "time": job.time, "available": job.available, "by": job.by,
        }  # fmt: skip
        known = "each known to the next row"
        if job.available is not None:
            known = f"known from column {job.available!r} on, used by later predictions only"
        return {
            "command": job.command,
            "file": f"{self.table.source}, {len(self.table):,} rows",
            "columns": ", ".join(f"{part} {name!r}" for part, name in columns.items() if name),
            "scores are": job.kind,
            "outcomes are": f"{known}; {self.rows.arrivals.never:,} never arrived",
            "seed": str(job.seed),
            "calibrant": __version__,
            "numpy": np.__version__,
        }


def raw_probabilities(scores: Floats, kind: str) -> Floats | None:
    """Return the scores as the probabilities they stand for; None for margins, of unknown unit."""
    if kind == "probability":
        return scores
    if kind == "logit":
        return np.exp(-np.logaddexp(0.0, -scores))
    return None


def check_out(source: str, out: Path) -> None:
    """Refuse a name that does not say what to write, and the file that is read."""
    kind_to_write(str(out))
    if out.exists() and Path(source).exists() and out.samefile(source):
        raise InputError("is the file that is read; give --out another name", source=str(out))


def name_of(table: Table, rows: Scored, row: int) -> str:
    """Return what to call a row: its time, or its place in the file."""
    if rows.clock is not None:
        return rows.clock.shown(row)
    unit, number = table.row_name(row)
    return f"{unit} {number}"


def missing_outcomes(count: int) -> str | None:
    """Say how many outcomes never arrived, if any."""
    return f"outcomes that never arrived: {count:,}" if count else None


def show_where(job: Job) -> None:
    """Say where the results are."""
    if job.out is None and job.report is None:
        console.say("\nTo keep the result: --out FILE.csv; to see it drawn: --report FILE.html")
        return
    console.say("\nWhere to look")
    if job.report is not None:
        console.say(f"  {job.report}: the report, in a browser")
    if job.out is not None:
        console.say(f"  {job.out}: every row, with its probability in column {job.column!r}")


@contextmanager
def opened(report: Path | None) -> Iterator[BinaryIO | None]:
    """Open the report if one is asked for; it appears whole or not at all."""
    if report is None:
        yield None
        return
    if report.suffix.lower() not in (".html", ".htm"):
        raise InputError("the name of a report must end in .html", source=str(report))
    with styled():
        pass  # or learn now, not after the work, that matplotlib is missing
    with replacing(report) as file:
        yield file
