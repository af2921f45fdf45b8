"""``calibrant measure``: how calibrated the predictions in a file were."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated, NamedTuple

import typer

from calibrant import measures
from calibrant._checks import Floats, check_integer
from calibrant.cli import console
from calibrant.cli.arguments import OutcomeColumn, Source, read_source
from calibrant.report.style import show_number


class Entry(NamedTuple):
    """A measure as the command shows it."""

    name: str
    title: str
    meaning: str
    function: Callable[[Floats, Floats], float]


SUMS = (
    Entry("cal1", "Cal1", "rounds by which the counts are off, exactly", measures.cal1),
    Entry("cal2", "Cal2", "squared error that calibration would save", measures.cal2),
    Entry("klcal", "KLCal", "log loss that calibration would save", measures.klcal),
    Entry("smooth_calibration", "smooth", "worst smooth test", measures.smooth_calibration),
    Entry("u_calibration", "U-calibration", "worst regret of a decision", measures.u_calibration),
    Entry("decision_loss", "decision loss", "worst swap regret", measures.decision_loss),
    Entry("step_calibration", "step", "worst threshold", measures.step_calibration),
    Entry("cutoff_calibration", "cutoff", "worst interval", measures.cutoff_calibration),
)
MEANS = (
    Entry("smece", "smECE", "calibration error, smoothed", measures.smece),
    Entry("brier", "Brier score", "squared error", measures.brier),
    Entry("log_loss", "log loss", "surprise", measures.log_loss),
)
# The linear program behind the distance from calibration takes so many distinct predictions.
MOST_DISTINCT = 100


def measure(
    source: Source,
    prediction: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of the predictions; guessed if not given."),
    ] = None,
    outcome: OutcomeColumn = None,
    bins: Annotated[
        int, typer.Option(metavar="N", help="Bins of the ECE and of the reliability table.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure how calibrated the predictions in FILE were."""
    with console.clean_end():
        check_integer("--bins", bins, 1)
        with console.busy(f"reading {source}"):
            rows = read_source(source)
            said = rows.take("prediction", prediction)
            happened = rows.take("outcome", outcome)
        console.note(said.note)
        console.note(happened.note)
        with console.busy("measuring"):
            values = everything(said.values, happened.values, bins)
        if as_json:
            # JSON has no infinity: an infinite error is null.
            finite = {k: v if math.isfinite(v) else None for k, v in values.items()}
            typer.echo(json.dumps(finite))
            return
        card = measures.Scorecard(bins=bins)
        card.extend(said.values, happened.values)
        console.say(
            f"{rows.source}: {len(rows):,} rounds, {len(card.distinct()):,} distinct predictions\n"
        )
        show(values, len(rows), bins)
        console.out.print("\n", console.reliability(card.reliability()))


def everything(said: Floats, happened: Floats, bins: int) -> dict[str, float]:
    """Return every measure that these rounds allow, by name."""
    values = {entry.name: entry.function(said, happened) for entry in SUMS}
    if find_spec("scipy") and len(set(said.tolist())) <= MOST_DISTINCT:
        values["lower_distance"] = measures.lower_distance(said, happened)
    values["ece"] = measures.ece(said, happened, bins=bins)
    values["ece_equal_mass"] = measures.ece(said, happened, bins=bins, scheme="mass")
    values["debiased_ece2"] = measures.debiased_ece2(said, happened, bins=bins)
    values |= {entry.name: entry.function(said, happened) for entry in MEANS}
    split = measures.murphy(said, happened)
    values["reliability"] = split.reliability
    values["resolution"] = split.resolution
    values["uncertainty"] = split.uncertainty
    return values


def show(values: dict[str, float], rounds: int, bins: int) -> None:
    """Print the sums, also as rates, and the means."""
    sums = list(SUMS)
    if "lower_distance" in values:
        sums.append(Entry("lower_distance", "distance", "to calibration", measures.lower_distance))
    console.out.print(
        console.table(
            "Sums over all rounds",
            ["", "sum", "a round", console.MEANING],
            [
                [
                    entry.title, show_number(values[entry.name], fine=True),
                    show_number(values[entry.name] / rounds, fine=True), entry.meaning,
                ]
                for entry in sums
            ],
        )
    )  # fmt: skip
    means = [
        ("ece", f"ECE, {bins} bins", "of equal width"),
        ("ece_equal_mass", f"ECE, {bins} bins", "of equal mass"),
        ("debiased_ece2", "l2 error, squared", "binned, without its bias"),
        *((entry.name, entry.title, entry.meaning) for entry in MEANS),
        ("reliability", "  reliability", "part of the Brier score: calibration"),
        ("resolution", "  resolution", "part of it: what the predictions told apart"),
        ("uncertainty", "  uncertainty", "part of it: the outcomes' own"),
    ]
    console.out.print(
        "\n",
        console.table(
            "Means",
            ["", "mean", console.MEANING],
            [
                [title, show_number(values[name], fine=True), meaning]
                for name, title, meaning in means
            ],
        ),
    )
