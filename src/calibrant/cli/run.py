"""``calibrant run``: forecast a file, or answer a pipe line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from calibrant._checks import Floats, check_seed
from calibrant.cli import console
from calibrant.cli.arguments import ForecasterName, OutcomeColumn, Seed, Source
from calibrant.forecasters import Forecaster
from calibrant.forecasters.named import make, parameters
from calibrant.measures import Scorecard
from calibrant.streams import follow, read, write
from calibrant.streams.writing import kind_to_write

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
    outcome: OutcomeColumn = None,
    forecaster: ForecasterName = "zoom",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the rows here, with their predictions."),
    ] = None,
    column: Annotated[
        str, typer.Option(metavar="NAME", help="What to call the column of predictions.")
    ] = "prediction",
    ahead: Annotated[
        bool, typer.Option("--ahead", help="In a pipe: answer with the forecast of the next line.")
    ] = False,
) -> None:
    """Forecast every row of FILE, each before its outcome is used, and score the forecasts.

    With - the rows come from a pipe: each line is answered at once with its probability.
    """
    with console.clean_end():
        parameters(forecaster)  # refuses what is no forecaster before anything is read
        check_seed(seed)
        if source == "-" and out is None:
            answer_lines(make(forecaster, seed=seed), forecaster, outcome, ahead)
        elif ahead:
            raise ValueError("--ahead answers a pipe line by line: give - as FILE and no --out")
        else:
            forecast_file(source, outcome, forecaster, seed, out, column)


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
        kind_to_write(str(out))  # before the work, not after it
    with console.busy(f"reading {source}"):
        rows = read(source)
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
    console.explain(f"\n{READING}")
    if out is not None:
        console.say(f"\nPredictions: {out}, column {column!r}")
