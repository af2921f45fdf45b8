"""``calibrant measure``: how calibrated the predictions in a file were."""

from __future__ import annotations

import json
import math
from functools import partial
from importlib.util import find_spec
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.text import Text

from calibrant import measures
from calibrant._checks import Floats, check_integer
from calibrant.checks import Columns, check_columns, refuse
from calibrant.cli import console
from calibrant.cli.arguments import (
    Allow,
    AsJson,
    Delimiter,
    OutcomeColumn,
    Positive,
    PredictionColumn,
    Source,
)
from calibrant.report.style import show_number
from calibrant.tables import InputError

#: Sums over the rounds: the function of `calibrant.measures`, a title, what it is.
SUMS = (
    ("cal1", "Cal1", "n |observed - predicted| over distinct predictions"),
    ("cal2", "Cal2", "n (observed - predicted)^2 over distinct predictions"),
    ("klcal", "KLCal", "log loss that calibration would save"),
    ("smooth_calibration", "smooth", "bias under the worst smooth weighting of predictions"),
    ("u_calibration", "U-calibration", "largest regret under a V-shaped loss"),
    ("decision_loss", "decision loss", "largest swap regret of a decision"),
    ("step_calibration", "step", "bias below the worst threshold"),
    ("cutoff_calibration", "cutoff", "bias within the worst interval"),
    ("lower_distance", "distance", "distance to calibrated predictions"),
)
# More distinct predictions would be too many for the linear program behind the distance.
MOST_DISTINCT = 100
#: Distinct predictions made fewer times than this on average hardly repeat.
REPEATS = 30


class Measure(NamedTuple):
    """A measure as the command prints it."""

    name: str
    title: str
    meaning: str
    value: float


def measure(
    source: Source,
    prediction: PredictionColumn = None,
    outcome: OutcomeColumn = None,
    positive: Positive = None,
    delimiter: Delimiter = None,
    allow: Allow = None,
    bins: Annotated[
        int, typer.Option(metavar="N", help="Bins of the ECE and of the reliability table.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Measure how calibrated the predictions in FILE were, on the rows that have an outcome."""
    with console.clean_end():
        check_integer("--bins", bins, 1)
        with console.err.status(Text(f"reading {source}")):
            rows = console.read_source(source, delimiter)
            predictions = rows.take("prediction", prediction)
            outcomes = rows.take("outcome", outcome, positive=positive, missing=True)
        for note in (rows.note, predictions.note, outcomes.note):
            console.note(note)
        known = ~np.isnan(outcomes.values)
        predicted, observed, rounds = (
            predictions.values[known],
            outcomes.values[known],
            int(known.sum()),
        )
        found = [
            # The measures here do not depend on the order of rows.
            each
            for each in check_columns(
                Columns(outcomes.values, predictions.values), f"{allow or ''},order"
            )
            if not each.check.startswith("order.")
        ]
        refuse(found, rows.source)
        if not rounds:
            raise InputError(
                "no outcome is known: every value is missing",
                source=rows.source,
                column=outcomes.name,
            )
        if rounds < len(rows):
            console.note(f"rows without an outcome, not measured: {len(rows) - rounds:,}")
        with console.err.status("measuring"):
            sums = sums_of(predicted, observed)
            means = means_of(predicted, observed, bins)
        if as_json:
            # JSON has no infinity: an infinite error is null.
            values = {m.name: m.value if math.isfinite(m.value) else None for m in sums + means}
            typer.echo(json.dumps({**values, "checks": [each.as_object() for each in found]}))
            return
        card = measures.Scorecard(bins=bins)
        card.extend(predicted, observed)
        console.say(
            f"{rows.source}: {rounds:,} rounds, {len(card.distinct()):,} distinct predictions\n"
        )
        shown = partial(show_number, fine=True)
        lines = [[m.title, shown(m.value), shown(m.value / rounds), m.meaning] for m in sums]
        head = ["", "sum", "per round", console.MEANING]
        console.out.print(console.table("Sums over all rounds", head, lines))
        table = card.distinct()
        if len(table) * REPEATS > rounds:
            console.say(f"\n{hardly_repeat(table, rounds, sums, means)}", fold=True)
        lines = [[m.title, shown(m.value), m.meaning] for m in means]
        console.out.print("\n", console.table("Means", ["", "mean", console.MEANING], lines))
        console.out.print("\n", console.reliability({"predictions": card.reliability()}))
        for each in found:
            console.say(f"\n{'Doubtful: ' if each.is_open else ''}{each.message}", fold=True)


def hardly_repeat(
    table: measures.DistinctTable, rounds: int, sums: list[Measure], means: list[Measure]
) -> str:
    """Return what sums over distinct predictions mean if these hardly repeat."""
    values = {each.name: each.value for each in (*sums, *means)}
    # The expected Cal2 if the predictions are calibrated.
    chance = float((table.prediction * (1.0 - table.prediction)).sum())
    return (
        f"The {len(table):,} distinct predictions hardly repeat in {rounds:,} rounds. Cal1, Cal2 "
        "and KLCal judge each distinct prediction by itself, so they mostly measure noise: chance "
        f"alone makes Cal2 about {show_number(chance / rounds, fine=True)} per round. The part of "
        "the Brier score that recalibration could save is closer to the squared l2 error in bins, "
        f"{show_number(max(values['debiased_ece2'], 0.0), fine=True)}."
    )


def sums_of(predicted: Floats, observed: Floats) -> list[Measure]:
    """Return the measures that are sums, without the distance if it would take too long."""
    affordable = find_spec("scipy") is not None and len(set(predicted.tolist())) <= MOST_DISTINCT
    return [
        Measure(name, title, meaning, getattr(measures, name)(predicted, observed))
        for name, title, meaning in SUMS
        if affordable or name != "lower_distance"
    ]


def means_of(predicted: Floats, observed: Floats, bins: int) -> list[Measure]:
    """Return the measures that are means."""
    title, split = f"ECE, {bins} bins", measures.murphy(predicted, observed)
    width = measures.ece(predicted, observed, bins=bins)
    mass = measures.ece(predicted, observed, bins=bins, scheme="mass")
    squared = measures.debiased_ece2(predicted, observed, bins=bins)
    parts = (
        ("reliability", "part of the Brier score: miscalibration"),
        ("resolution", "part of it, subtracted: how well predictions separate outcomes"),
        ("uncertainty", "part of it: variance of the outcomes"),
    )
    return [
        Measure("ece", title, "bins of equal width", width),
        Measure("ece_equal_mass", title, "bins of equal mass", mass),
        Measure("debiased_ece2", "l2 error, squared", "binned, debiased", squared),
        Measure(
            "smece", "smECE", "smoothed calibration error", measures.smece(predicted, observed)
        ),
        Measure("brier", "Brier score", "mean squared error", measures.brier(predicted, observed)),
        Measure(
            "log_loss",
            "log loss",
            "mean negative log-likelihood",
            measures.log_loss(predicted, observed),
        ),
        *(Measure(name, f"  {name}", meaning, getattr(split, name)) for name, meaning in parts),
    ]
