"""``calibrant run``: recalibrate scores, or forecast outcomes; a file, or a pipe line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from calibrant._checks import Floats, check_seed
from calibrant.cli import console
from calibrant.cli.arguments import FORECASTER, OutcomeColumn, Seed, Source, read_source
from calibrant.cli.recalibrate import Job, check_out, recalibrate_file
from calibrant.cli.recalibrate_pipe import answer_scores
from calibrant.forecasters import Forecaster
from calibrant.forecasters.named import make, parameters
from calibrant.measures import Scorecard
from calibrant.tables import follow, write

DEFAULT = "zoom"
BASELINES = ("epoch", "running-mean")
WINDOW = 1000
STEPS = 50

READING = (
    "Cal1 counts the rounds by which the forecasts are off, exactly and without bins. It asks for "
    "predictions that repeat; the running mean's hardly ever do, so compare that one by ECE, its "
    "binned cousin. Brier score and log loss also reward sharpness."
)


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
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a report with figures here."),
    ] = None,
    forecaster: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help=f"Without --score, who forecasts ({DEFAULT} if not given): {FORECASTER}",
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
        if out is None:
            refuse("names a column of --out, and none is asked for", column=column)
        if score is not None:
            refuse("belongs to forecasts without --score", forecaster=forecaster, ahead=ahead)
            job = Job(
                source, score, outcome, id_column, time, available, by, kind, seed,
                column or "calibrated", out, report,
            )  # fmt: skip
            if source == "-" and out is None and report is None:
                answer_scores(job, sys.stdin.buffer)
            else:
                recalibrate_file(job)
            return
        refuse(
            "needs --score: without scores there is nothing to recalibrate",
            id=id_column, time=time, available=available, by=by, report=report,
            kind=kind != "probability",
        )  # fmt: skip
        name = forecaster or DEFAULT
        parameters(name)  # refuses what is no forecaster before anything is read
        if source == "-" and out is None:
            answer_lines(make(name, seed=seed), name, outcome, ahead)
        elif ahead:
            raise ValueError("--ahead answers a pipe line by line: give - as FILE and no --out")
        else:
            forecast_file(source, outcome, name, seed, out, column or "prediction")


def refuse(why: str, **options: object) -> None:
    """Refuse options that belong to the command's other half."""
    for name, given in options.items():
        if given:
            raise ValueError(f"--{name} {why}")


def answer_lines(forecaster: Forecaster, name: str, outcome: str | None, ahead: bool) -> None:
    """Answer each line of standard input at once; score the answers at its end."""
    card = Scorecard(window=WINDOW)

    def answer() -> None:
        sys.stdout.write(f"{forecaster.predict()!r}\n")
        sys.stdout.flush()

    if ahead:
        answer()
    for value in follow(sys.stdin.buffer, outcome=outcome, announce=console.note):
        card.add(forecaster.predict(), value)
        if not ahead:
            answer()
        forecaster.update(value)
        if ahead:
            answer()
    console.err.print(console.scorecards({name: card}))


def forecast_file(
    source: str, outcome: str | None, name: str, seed: int, out: Path | None, column: str
) -> None:
    """Forecast a whole file, beside the baselines; write the predictions if asked to."""
    if out is not None:
        check_out(source, out)  # before the work, not after it
    with console.busy(f"reading {source}"):
        rows = read_source(source)
        outcomes = rows.take("outcome", outcome)
    console.note(outcomes.note)
    if out is not None and column in rows.columns:
        raise ValueError(f"{source} has a column {column!r} already; name another with --column")
    names = list(dict.fromkeys([name, *BASELINES]))  # the one asked for first, none twice
    cards: dict[str, Scorecard] = {}
    predictions: dict[str, Floats] = {}
    with console.progress() as bar:
        task = bar.add_task("forecasting", total=STEPS * len(names))
        for each in names:
            forecaster = make(each, seed=seed, rounds=len(rows))
            cards[each] = Scorecard(window=WINDOW)
            parts = []
            for part in np.array_split(outcomes.values, STEPS):
                parts.append(forecaster.run(part))
                cards[each].extend(parts[-1], part)
                bar.advance(task)
            predictions[each] = np.concatenate(parts)
    if out is not None:
        with console.busy(f"writing {out}"):
            write(out, rows.with_column(column, predictions[name]))
    console.say(
        f"{rows.source}: {len(rows):,} rounds, column {outcomes.name!r}, "
        f"mean outcome {outcomes.values.mean():.4f}\n"
    )
    console.out.print(console.scorecards(cards))
    console.say(f"\n{READING}", fold=True)
    if out is not None:
        console.say(f"\nPredictions: {out}, column {column!r}")
