"""``calibrant run --score``: recalibrate a model's scores in a file, and show before and after."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from calibrant import Recalibrator
from calibrant._checks import check_choice
from calibrant._kernels.recalibrate import KINDS
from calibrant.cli import console
from calibrant.cli.arguments import read_source
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.report import BeforeAfter, RecalibrationReport, recalibration
from calibrant.report.recalibration_page import READING, group_rows, measure_rows
from calibrant.report.style import styled
from calibrant.tables import InputError, Scored, Table, replacing, take_scored, write
from calibrant.tables.writing import kind_to_write

GROUPS_IN_TERMINAL = 20


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
            result = recalibration(
                rows.scores, calibrated, rows.outcomes,
                times=lambda row: name_of(table, rows, row), by=rows.groups, kind=job.kind,
                title=f"{Path(table.source).name}: scores before and after recalibration",
                never=rows.arrivals.never, made=how_made(job, table, rows),
            )  # fmt: skip
            page = result.page.html().encode() if report is not None else b""
        if job.out is not None:
            with console.busy(f"writing {job.out}"):
                write(job.out, table.with_column(job.column, calibrated))
        if report is not None:
            report.write(page)
    show(job, table, rows, result)


def how_made(job: Job, table: Table, rows: Scored) -> dict[str, str]:
    """Return how the run was made, and the command that does it again."""
    words = ["calibrant", "run", job.source]
    for field in fields(job)[1:]:
        value = getattr(job, field.name)
        if value != field.default:
            words += [f"--{field.name}", str(value)]
    columns = {
        "score": job.score, "outcome": rows.outcome_column, "id": job.id,
        "time": job.time, "available": job.available, "by": job.by,
    }  # fmt: skip
    known = "each known to the next row"
    if job.available is not None:
        known = f"known from column {job.available!r} on, used by later predictions only"
    return {
        "command": shlex.join(words),
        "file": f"{table.source}, {len(table):,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "scores are": job.kind,
        "outcomes are": f"{known}; {rows.arrivals.never:,} never arrived",
        "seed": str(job.seed),
    }


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


def show(job: Job, table: Table, rows: Scored, report: RecalibrationReport) -> None:
    """Print what was read, the measures, the groups, what they say, and where the results are."""
    both, never, too_late = report.measures, rows.arrivals.never, rows.arrivals.too_late
    console.say(
        f"{table.source}: {len(table):,} rounds, scores {job.score!r}, outcomes "
        f"{rows.outcome_column!r} (mean {both.mean_outcome:.4f})"
    )
    if never:
        console.say(f"outcomes that never arrived: {never:,}")
    if job.available is not None and too_late:
        console.say(f"outcomes that arrived only after the last prediction: {too_late:,}")
    head = ["", *both.columns, console.MEANING]
    measures = console.table("Before and after (lower is better)", head, measure_rows(both))
    console.out.print("", measures, sep="\n")
    console.out.print("\n", reliability(both))
    if both.groups:
        head, groups = group_rows(both, GROUPS_IN_TERMINAL)
        # A group is called what the user calls it: no brackets in its name are orders.
        shown: list[list[str | Text]] = [[Text(group), *values] for group, *values in groups]
        console.out.print("\n", console.table("By group", head, shown))
        if len(both.groups) > len(groups):
            console.say(f"and {len(both.groups) - len(groups):,} smaller groups")
    console.out.print("\n[bold]What to look at[/]")
    points = Grid.grid(padding=(0, 1))
    points.add_column(width=1)
    points.add_column()
    for finding in report.findings:
        points.add_row("-", Text(finding))
    console.out.print(points)
    console.say(f"\n{READING}", fold=True)
    if job.out is None and job.report is None:
        console.say("\nTo keep the result: --out FILE.csv; to see it drawn: --report FILE.html")
    else:
        console.say("\nWhere to look")
    if job.report is not None:
        console.say(f"  {job.report}: the report, in a browser")
    if job.out is not None:
        console.say(f"  {job.out}: every row, with its probability in column {job.column!r}")


def reliability(both: BeforeAfter) -> Grid:
    """Return what was said and what happened, bin by bin, before and after."""
    head, tables = ["\nbin"], []
    for name, column in both.columns.items():
        head += [f"{name}\nrounds", "\nsaid", "\nhappened", ""]
        tables.append(column.reliability)
    rows = []
    for at in np.flatnonzero(np.sum([table.count for table in tables], axis=0)):
        row = [f"{tables[0].lower[at]:.1f}-{tables[0].upper[at]:.1f}"]
        for table in tables:
            said, happened = table.mean_prediction[at], table.mean_outcome[at]
            off = "off" if table.off[at] else ""
            row += (
                [f"{table.count[at]:,}", f"{said:.3f}", f"{happened:.3f}", off]
                if table.count[at]
                else ["-", "", "", ""]
            )
        rows.append(row)
    level = both.calibrated.reliability.level
    return console.table(
        f"Of what was said, how much happened (off: beyond a {level:.0%} interval)", head, rows
    )


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
