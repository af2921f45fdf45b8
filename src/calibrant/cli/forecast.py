"""``calibrant run`` without ``--score``: forecast the outcomes of a file, or of a pipe."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np

from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.forecasters import Forecaster
from calibrant.forecasters.named import make
from calibrant.measures import Scorecard
from calibrant.tables import Table, follow, write
from calibrant.tables.columns import facts_of
from calibrant.tables.errors import listed
from calibrant.tables.reading import standard_input
from calibrant.tables.roles import likely_scores

BASELINES = ("epoch", "running-mean")
WINDOW = 1000
STEPS = 50

READING = (
    "Cal1 counts the rounds by which the forecasts are off, exactly and without bins. It asks for "
    "predictions that repeat; the running mean's hardly ever do, so compare that one by ECE, its "
    "binned cousin. Brier score and log loss also reward sharpness."
)


def answer_lines(
    forecaster: Forecaster,
    name: str,
    outcome: str | None,
    positive: str | None,
    delimiter: str | None,
    *,
    ahead: bool,
) -> None:
    """Answer each line of standard input at once; score the answers at its end."""
    lines = standard_input()
    card = Scorecard(window=WINDOW)

    def answer() -> None:
        sys.stdout.write(f"{forecaster.predict()!r}\n")
        sys.stdout.flush()

    if ahead:
        answer()
    for value in follow(
        lines, outcome=outcome, positive=positive, delimiter=delimiter, announce=console.note
    ):
        card.add(forecaster.predict(), value)
        if not ahead:
            answer()
        forecaster.update(value)
        if ahead:
            answer()
    console.err.print(console.scorecards({name: card}))


def forecast_file(
    source: str,
    outcome: str | None,
    name: str,
    seed: int,
    out: Path | None,
    column: str,
    positive: str | None,
    delimiter: str | None,
) -> None:
    """Forecast a whole file, beside the baselines; write the predictions if asked to."""
    console.check_outputs(source, out)
    with console.busy(f"reading {source}"):
        rows = console.read_source(source, delimiter)
        if out is not None:
            console.check_column(rows, column)
        outcomes = rows.take("outcome", outcome, positive=positive)
    console.note(rows.note)
    console.note(outcomes.note)
    console.note(unused_score(rows, outcomes.name))
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


def unused_score(rows: Table, outcome: str) -> str | None:
    """Return a line about a column that looks like a model's scores and is not used."""
    facts = [facts_of(rows.cells(name)) for name in rows.columns if name != outcome]
    scores = [each.name for each in likely_scores(facts)]
    if not scores:
        return None
    looks = "looks like scores and is" if len(scores) == 1 else "look like scores and are"
    return (
        f"{rows.source}: {listed(scores)} {looks} not used: the outcomes alone are forecast; to "
        f"recalibrate a model's scores: --score {shlex.quote(scores[0])}"
    )
