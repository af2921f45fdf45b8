"""``calibrant run``: recalibrate a model's scores in a file, and show before and after.

Without scores, outcomes are forecast (`calibrant.cli.forecast`). Rows of a pipe are answered line
by line (`calibrant.cli.recalibrate_pipe`).
"""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table as Grid
from rich.text import Text

from calibrant._checks import check_choice, check_seed
from calibrant._kernels.recalibrate import KINDS
from calibrant.cli import console
from calibrant.cli.arguments import FORECASTER, Job, OutcomeColumn, Seed, Source
from calibrant.cli.forecast import answer_lines, forecast_file
from calibrant.cli.recalibrate_pipe import answer_scores
from calibrant.cli.state import begin, keep
from calibrant.forecasters.named import make, parameters
from calibrant.recalibrate.frames import ids_in
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.report import BeforeAfter, RecalibrationReport, recalibration
from calibrant.report.recalibration_page import READING, group_rows, measure_rows
from calibrant.report.style import styled
from calibrant.tables import InputError, Scored, replacing, take_scored, write

DEFAULT = "zoom"
GROUPS_IN_TERMINAL = 20


def run(
    source: Source,
    score: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of a model's scores, to be recalibrated."),
    ] = None,
    outcome: OutcomeColumn = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COL", help="Column that names each score; none comes twice."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of when each score was given; in order."),
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of when each outcome became known, by the clock of --time: only scores "
            "given later learn from it. Empty for never.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of groups, each recalibrated for itself."),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(metavar="KIND", help="What the scores are: probability, logit or margin."),
    ] = "probability",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the rows here, with their probabilities."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to call the column of probabilities: calibrated, or prediction without "
            "--score.",
            show_default=False,
        ),
    ] = None,
    smooth: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a second column of this name: probabilities as fine as the scores, to rank "
            "rows by.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Go on with the recalibrator saved here, if there is one, and save it at the end.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="In a pipe: stop at the first line that cannot be used."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a report with figures here."),
    ] = None,
    forecaster: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help=f"Without --score, the forecaster ({DEFAULT} if not given): {FORECASTER}",
        ),
    ] = None,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead",
            help="In a pipe, without --score: answer with the forecast of the next line.",
        ),
    ] = False,
) -> None:
    """Recalibrate a model's scores in FILE, or forecast its outcomes where there are no scores.

    Each probability is made before its own outcome is used; at the end stands how good they were.
    With - the rows come from a pipe: each line is answered at once with its probability.
    """
    with console.clean_end():
        check_seed(seed)
        if column and out is None:
            raise ValueError("--column names a column of --out, and none is asked for")
        if score is None:
            stray: dict[str, object] = {
                "id": id_column, "time": time, "available": available, "by": by, "report": report,
                "kind": kind != "probability", "smooth": smooth, "state": state, "strict": strict,
            }  # fmt: skip
            why = "needs --score: without scores there is nothing to recalibrate"
        else:
            stray = {"forecaster": forecaster, "ahead": ahead}
            why = "belongs to forecasts without --score"
        for name, given in stray.items():
            if given:
                raise ValueError(f"--{name} {why}")
        is_pipe = source == "-" and out is None and report is None
        if score is not None:
            check_choice("--kind", kind, KINDS)
            if not is_pipe and strict:
                raise ValueError("--strict is for a pipe: a FILE with a bad row is always refused")
            if not is_pipe and smooth and out is None:
                raise ValueError("--smooth names a column of --out, and none is asked for")
            if available is not None and time is None:
                raise ValueError(
                    "--available needs --time: an outcome is late for predictions made before it"
                )
            job = Job(
                source, score, outcome, id_column, time, available, by, kind, seed,
                column or "calibrated", out, report, state, smooth, strict,
            )  # fmt: skip
            if is_pipe:
                answer_scores(job, sys.stdin.buffer)
            else:
                recalibrate_file(job)
            return
        name = forecaster or DEFAULT
        parameters(name)  # refuses what is no forecaster before anything is read
        if is_pipe:
            answer_lines(make(name, seed=seed), name, outcome, ahead)
        elif ahead:
            raise ValueError("--ahead answers a pipe line by line: give - as FILE and no --out")
        else:
            forecast_file(source, outcome, name, seed, out, column or "prediction")


def recalibrate_file(job: Job) -> None:
    """Recalibrate a whole file; write and report what was asked for, show the rest."""
    if job.report is not None:
        if job.report.suffix.lower() not in (".html", ".htm"):
            raise InputError("the name of a report must end in .html", source=str(job.report))
        with styled():
            pass  # or learn now, not after the work, that matplotlib is missing
    job, recalibrator = begin(job)
    with console.busy(f"reading {job.source}"):
        table = console.read_source(job.source, job.out, job.column)
        rows = take_scored(
            table, score=job.score, outcome=job.outcome, id=job.id, time=job.time,
            available=job.available, by=job.by, kind=job.kind,
        )  # fmt: skip
        if np.isnan(rows.outcomes).all():
            raise InputError(
                "no outcome is known: every cell is empty",
                source=table.source, column=rows.outcome_column,
            )  # fmt: skip
        if job.smooth is not None and job.smooth in (*table.columns, job.column):
            raise ValueError(
                f"there is a column {job.smooth!r} already: name another with --smooth"
            )
        ids = None if job.id is None or job.state is None else ids_in(table, job.id)
    console.note(rows.note)
    # The report is opened first: if it cannot be written, nothing else is.
    with nullcontext() if job.report is None else replacing(job.report) as report:
        with console.busy("recalibrating"):
            calibrated, smooth = recalibrate_rows(
                recalibrator, rows.scores, rows.outcomes, rows.arrivals, rows.groups, ids
            )
        with console.busy("measuring"):
            never = len(rows.scores) - len(rows.arrivals.order)
            result = recalibration(
                rows.scores, calibrated, rows.outcomes, by=rows.groups, kind=job.kind,
                times=table.row_called if rows.clock is None else rows.clock.shown,
                title=f"{Path(table.source).name}: scores before and after recalibration",
                never=never, made=how_made(job, table.source, rows, never),
            )  # fmt: skip
            page = result.page.html().encode() if report is not None else b""
        if job.out is not None:
            with console.busy(f"writing {job.out}"):
                written = table.with_column(job.column, calibrated)
                if job.smooth is not None:
                    written = written.with_column(job.smooth, smooth)
                write(job.out, written)
        if report is not None:
            report.write(page)
    keep(job, recalibrator)
    show(job, table.source, rows, result)


def how_made(job: Job, source: str, rows: Scored, never: int) -> dict[str, str]:
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
        "file": f"{source}, {len(rows.scores):,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "scores are": job.kind,
        "outcomes are": f"{known}; {never:,} never arrived",
        "seed": str(job.seed),
    }


def show(job: Job, source: str, rows: Scored, report: RecalibrationReport) -> None:
    """Print what was read, the measures, the groups, what they say, and where the results are."""
    both, arrivals, rounds = report.measures, rows.arrivals, len(rows.scores)
    console.say(
        f"{source}: {rounds:,} rounds, scores {job.score!r}, outcomes {rows.outcome_column!r} "
        f"(mean {both.mean_outcome:.4f})"
    )
    if len(arrivals.order) < rounds:
        console.say(f"outcomes that never arrived: {rounds - len(arrivals.order):,}")
    # The last row's own outcome always comes after the last prediction.
    too_late = np.count_nonzero(arrivals.order[arrivals.known[-1] :] != rounds - 1)
    if job.available is not None and too_late:
        console.say(f"outcomes that arrived only after the last prediction: {too_late:,}")
    head = ["", *both.columns, console.MEANING]
    measures = console.table("Before and after (lower is better)", head, measure_rows(both))
    console.out.print("", measures, sep="\n")
    console.out.print("\n", reliability(both))
    if both.groups:
        head, groups = group_rows(both, GROUPS_IN_TERMINAL)
        # As `Text`, because brackets in the name of a group are no markup.
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
