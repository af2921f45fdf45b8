"""``calibrant run FILE --score``: recalibrate the scores of a file, and show before and after."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table as Grid
from rich.text import Text

from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.cli.arguments import Job
from calibrant.cli.episodes import show_episodes, summary_of
from calibrant.cli.state import begin, keep
from calibrant.forecasters.memories import heaviest_in_words
from calibrant.recalibrate import Recalibrator
from calibrant.recalibrate.frames import ids_in
from calibrant.recalibrate.rows import Recalibrated, recalibrate_rows
from calibrant.report import BeforeAfter, RecalibrationReport, recalibration
from calibrant.report.recalibration_panels import MEASURE_ROWS, READING, group_rows, measure_rows
from calibrant.report.style import styled
from calibrant.tables import InputError, Scored, Table, replacing, take_scored, write

GROUPS_IN_TERMINAL = 20


def recalibrate_file(job: Job) -> None:
    """Recalibrate a whole file; write and report what was asked for, show the rest."""
    console.check_outputs(job.source, job.out, job.report)
    if job.report is not None:
        with styled():
            pass  # or learn now, not after the work, that matplotlib is missing
    job, recalibrator = begin(job)
    with console.busy(f"reading {job.source}"):
        table = console.read_source(job.source, job.delimiter)
        if job.out is not None:
            console.check_column(table, job.column)
        rows = take_scored(
            table, score=job.score, outcome=job.outcome, id=job.id, time=job.time,
            available=job.available, due=job.due, by=job.by, kind=job.kind, positive=job.positive,
        )  # fmt: skip
        if job.smooth is not None and job.smooth in (*table.columns, job.column):
            raise ValueError(
                f"there is a column {job.smooth!r} already: name another with --smooth"
            )
        ids = None if job.id is None or job.state is None else ids_in(table, job.id)
    console.note(table.note)
    console.note(rows.note)
    # The report is opened first: if it cannot be written, nothing else is.
    with nullcontext() if job.report is None else replacing(job.report) as report:
        with console.busy("recalibrating"):
            said = recalibrate_rows(recalibrator, rows, ids, smooth=job.smooth is not None)
        with console.busy("measuring"):
            result = measured(job, table, rows, said, recalibrator)
            page = b"" if report is None or result is None else result.page.html().encode()
        if job.out is not None:
            with console.busy(f"writing {job.out}"):
                written = table.with_column(job.column, said.predictions)
                if job.smooth is not None and said.smooth is not None:
                    written = written.with_column(job.smooth, said.smooth)
                write(job.out, written)
        if report is not None:
            report.write(page)
    keep(job, recalibrator)
    answers = recalibrator._book.late
    if job.json:
        measures = {"rounds": 0} if result is None else in_json(result)
        typer.echo(json.dumps({**measures, "answers": answers}))
        return
    show_rows(job, table.source, rows, said.outcomes, answers)
    if result is not None:
        show(result)
    show_places(job)


def measured(
    job: Job, table: Table, rows: Scored, said: Recalibrated, recalibrator: Recalibrator
) -> RecalibrationReport | None:
    """Return how good the probabilities are; None while all rows wait for their deadlines."""
    unknown = int(np.count_nonzero(np.isnan(said.outcomes)))
    if unknown == len(said.outcomes):
        if job.silence is not None and job.report is None:
            return None
        problem = "no outcome is known: every value is missing, or counts only later"
        raise InputError(problem, source=table.source, column=rows.outcome_column)
    never = unknown if job.silence is None else 0
    return recalibration(
        rows.scores, said.predictions, said.outcomes, by=rows.groups, kind=job.kind,
        times=table.row_called if rows.clock is None else rows.clock,
        available=None if job.has_deadlines else rows.available,
        recalibrator=recalibrator, expected=said.expected, known=said.known,
        title=f"{Path(table.source).name}: scores before and after recalibration",
        never=never,
        made=None if job.report is None else how_made(job, table.source, rows, never),
    )  # fmt: skip


def command_of(job: Job) -> str:
    """Return the command that does a run again."""
    words = ["calibrant", "run", job.source]
    for field in fields(job)[1:]:
        value = getattr(job, field.name)
        if value != field.default:
            words += [f"--{field.name}"] if value is True else [f"--{field.name}", str(value)]
    return shlex.join(words)


def how_made(job: Job, source: str, rows: Scored, never: int) -> dict[str, str]:
    """Return how the run was made, and the command that does it again."""
    columns = {
        "score": job.score, "outcome": rows.outcome_column, "id": job.id,
        "time": job.time, "available": job.available, "due": job.due, "by": job.by,
    }  # fmt: skip
    known = "each known to the next row"
    if job.available is not None:
        known = f"known from column {job.available!r} on, used by later predictions only"
    if job.hold is not None:
        known += f", learned {job.hold} after their predictions"
    if job.silence is not None:
        until = f"column {job.due!r} says" if job.after is None else f"{job.after} have passed"
        known += f"; {job.silence} if none is known when {until}"
    return {
        "command": command_of(job),
        "file": f"{source}, {len(rows.scores):,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "scores are": job.kind,
        "outcomes are": f"{known}; {never:,} never arrived",
        "seed": str(job.seed),
    }


def in_json(report: RecalibrationReport) -> dict[str, Any]:
    """Return the measures, what a monitor found and what it means, as JSON has it."""
    both = report.measures
    columns = {
        name: {
            # JSON has no infinity: an infinite error is null.
            **{each: finite(getattr(column, each)) for _, each, _ in MEASURE_ROWS},
            **summary_of(report.watched[name]),
        }
        for name, column in both.columns.items()
    }
    return {
        "rounds": both.rounds, "mean_outcome": both.mean_outcome, **columns,
        "verdict": report.verdict.word, "findings": report.findings,
    }  # fmt: skip


def finite(value: float) -> float | None:
    """Return a number, or None where it is infinite."""
    return value if math.isfinite(value) else None


def show_rows(
    job: Job, source: str, rows: Scored, outcomes: Floats, answers: Mapping[str, int]
) -> None:
    """Print what was read, and what became of the outcomes."""
    unknown = int(np.count_nonzero(np.isnan(outcomes)))
    mean = f" (mean {np.nanmean(outcomes):.4f})" if unknown < len(outcomes) else ""
    console.say(
        f"{source}: {len(outcomes):,} rounds, scores {job.score!r}, outcomes "
        f"{rows.outcome_column!r}{mean}"
    )
    if unknown:
        what = "outcomes that never arrived"
        if job.silence is not None:
            what = "predictions without an outcome, whose deadline is still to come"
        console.say(f"{what}: {unknown:,}")
    if rows.clock is not None and rows.available is not None:
        # The last row's own outcome always comes after the last prediction.
        is_after = (rows.available.ticks >= rows.clock.ticks[-1]) & ~np.isnan(rows.outcomes)
        after = np.count_nonzero(is_after[:-1])
        if after:
            console.say(f"outcomes that arrived only after the last prediction: {after:,}")
    console.say_answers(answers, by_id=False)


def show(report: RecalibrationReport) -> None:
    """Print the measures, the groups, what they say, and what the probabilities rest on."""
    both = report.measures
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
    show_episodes(report.watched, report.alarms_note)
    console.out.print("\n[bold]What to look at[/]")
    points = Grid.grid(padding=(0, 1))
    points.add_column(width=1)
    points.add_column()
    for finding in report.findings:
        points.add_row("-", Text(finding))
    console.out.print(points)
    if isinstance(report.recalibrator, Recalibrator):
        rests_on = heaviest_in_words(report.recalibrator.weights())
        console.say(f"\nThe probabilities now rest on {rests_on}.", fold=True)
    console.say(f"\n{READING}", fold=True)


def show_places(job: Job) -> None:
    """Print where the results are."""
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
