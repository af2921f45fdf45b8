"""``calibrant run`` without ``--score``: forecast the outcomes of a file, or of a pipe."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path

import numpy as np
import typer

from calibrant.cli import console
from calibrant.cli.episodes import show_episodes, summary_of
from calibrant.forecasters import EventForecaster, Forecaster
from calibrant.forecasters.memories import heaviest_in_words
from calibrant.forecasters.named import make
from calibrant.measures import Scorecard
from calibrant.report.watch_page import watching
from calibrant.tables import Clock, Table, follow, write
from calibrant.tables.columns import facts_of
from calibrant.tables.errors import listed
from calibrant.tables.reading import standard_input
from calibrant.tables.roles import likely_scores

BASELINES = ("zoom", "running-mean")
#: Of these, the one with the least log loss stands beside the others.
SIMPLE = (
    "exponential-window:halflife=10", "exponential-window:halflife=100",
    "exponential-window:halflife=1000", "markov-table:order=1", "markov-table:order=4",
    "markov-table:order=8", "seasonal-table:period=7", "seasonal-table:period=24",
)  # fmt: skip
WINDOW = 1000
STEPS = 50

READING = (
    "Brier score and log loss are lower the sharper and the better calibrated forecasts are. Cal2 "
    "asks for calibration alone, exactly and without bins: of each probability that was said, as "
    "much must have happened. It makes sense for predictions that repeat, and those of the simple "
    "rivals hardly ever do; compare them by ECE, its binned cousin."
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
    time: str | None = None,
    *,
    as_json: bool = False,
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
    clock = None if time is None else take_clock(rows, time)
    first = make(name, seed=seed, rounds=len(rows))
    if clock is not None and not isinstance(first, EventForecaster):
        raise ValueError(f"--time is for the default forecaster; {name} has no use for times")
    names = list(dict.fromkeys([name, *BASELINES, *SIMPLE]))  # the one asked for first, none twice
    cards: dict[str, Scorecard] = {}
    with console.progress() as bar:
        task = bar.add_task("forecasting", total=STEPS * len(names))
        for each in names:
            forecaster = first if each == name else make(each, seed=seed, rounds=len(rows))
            cards[each] = Scorecard(window=WINDOW)
            parts, means = [], []
            for chosen in np.array_split(np.arange(len(rows)), STEPS):
                part = outcomes.values[chosen]
                given = {}
                if clock is not None and isinstance(forecaster, EventForecaster):
                    given = {"times": clock.ticks[chosen]}
                played, mean = forecaster._run_with_means(forecaster.run, part, **given)
                parts.append(played)
                means.append(mean)
                cards[each].extend(played, part)
                bar.advance(task)
            if each == name:
                predictions, expected = np.concatenate(parts), np.concatenate(means)
    simple = [each for each in SIMPLE if each != name]
    best = min(simple, key=lambda each: cards[each].log_loss)
    shown = {each: cards[each] for each in names if each not in simple or each == best}
    if out is not None:
        with console.busy(f"writing {out}"):
            write(out, rows.with_column(column, predictions))
    found = watching(expected, outcomes.values, times=clock)
    if as_json:
        measured = {each: in_json(card) for each, card in shown.items()}
        typer.echo(json.dumps({**summary_of(found), "measures": measured}))
        return
    console.say(
        f"{rows.source}: {len(rows):,} rounds, column {outcomes.name!r}, "
        f"mean outcome {outcomes.values.mean():.4f}\n"
    )
    console.out.print(console.scorecards(shown))
    console.say(f"\n{best} is the simple rival with the least log loss, of {len(simple)}.")
    show_episodes({name: found})
    if isinstance(first, EventForecaster):
        console.say(f"\nThe forecasts draw on {heaviest_in_words(first.memory())}.", fold=True)
    console.say(f"\n{READING}", fold=True)
    if out is not None:
        console.say(f"\nPredictions: {out}, column {column!r}")


def take_clock(rows: Table, column: str) -> Clock:
    """Return when each outcome happens: the ticks are seconds since 1970."""
    rows.find("time", column)
    clock = rows.cells(column).clock()
    clock.check_order()
    return clock


def in_json(card: Scorecard) -> dict[str, float | None]:
    """Return the measures of a scorecard; JSON has no infinity, so an infinite error is null."""
    values = {name: float(getattr(card, name)) for _, name in console.SCORECARD_ROWS}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


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
