"""``calibrant recalibrate FILE --scores a,b,c``: scores of several classes become probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table as Grid

from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.measures.multiclass import ClassSummary
from calibrant.recalibrate.class_rows import (
    ClassRows,
    probability_columns,
    recalibrate_classes,
    take_classes,
)
from calibrant.recalibrate.multiclass import MulticlassRecalibrator
from calibrant.report import ClassReport
from calibrant.tables import write

#: The options that go with --scores.
TAKEN = (
    "source", "scores", "outcome", "kind", "time", "available", "due", "by", "silence", "after",
    "hold", "seed", "column", "delimiter", "out", "state", "report", "json",
)  # fmt: skip
#: Classes of which a line is shown.
SHOWN = 8


def recalibrate_given(given: dict[str, Any]) -> None:
    """Recalibrate a file of classes by the options of the command, or refuse some."""
    if given["outcome"] is None or given["source"] == "-":
        raise ValueError("scores of several classes need a FILE, --scores and --outcome")
    for name, value in given.items():
        if name not in TAKEN and value not in (None, False, (), []):
            raise ValueError(f"--{name} does not go with --scores")
    chosen = {name: given[name] for name in TAKEN if name not in ("source", "json")}
    recalibrate_class_file(given["source"], **chosen, as_json=given["json"])


def recalibrate_class_file(
    source: str,
    *,
    scores: str,
    outcome: str,
    kind: str = "probability",
    time: str | None = None,
    available: str | None = None,
    due: str | None = None,
    by: str | None = None,
    silence: str | None = None,
    after: str | None = None,
    hold: str | None = None,
    seed: int = 0,
    column: str | None = None,
    delimiter: str | None = None,
    out: Path | None = None,
    state: Path | None = None,
    report: Path | None = None,
    as_json: bool = False,
) -> None:
    """Recalibrate the scores of a file; write its rows with probabilities, show what they gain."""
    start = f"{column or 'calibrated'}_"
    with console.busy(f"reading {source}"):
        table = console.read_source(source, delimiter)
        labels, rows = take_classes(
            table, scores=scores, outcome=outcome, kind=kind, time=time, available=available,
            due=due, by=by,
        )  # fmt: skip
        for name in probability_columns(labels, np.empty((0, len(labels))), start):
            if out is not None and name in table.columns:
                raise ValueError(f"{source} has a column {name!r} already; choose another --column")
    recalibrator = MulticlassRecalibrator(
        labels, kind, seed=seed, silence=silence, after=after, hold=hold
    )
    if state is not None and state.exists():
        fresh, recalibrator = recalibrator, MulticlassRecalibrator.load(state)
        names = ("classes", "kind", "silence", "after", "hold")
        if any(getattr(fresh, name) != getattr(recalibrator, name) for name in names):
            raise ValueError(f"{state} was made with other classes or options: {recalibrator!r}")
    console.note(table.note)
    with console.busy("recalibrating"):
        predicted, outcomes = recalibrate_classes(recalibrator, rows)
    if out is not None:
        for name, values in probability_columns(labels, predicted, start).items():
            table = table.with_column(name, values)
        write(out, table)
        console.note(f"wrote {out}")
    if state is not None:
        recalibrator.save(state)
    found = measured(recalibrator, rows, predicted, outcomes)
    if report is not None and found is not None:
        found.save(report)
        console.note(f"wrote {report}")
    if as_json:
        typer.echo(json.dumps(as_dict(found, len(predicted))))
    else:
        show(found, recalibrator, len(predicted))


def measured(
    recalibrator: MulticlassRecalibrator, rows: ClassRows, predicted: Floats, outcomes: Floats
) -> ClassReport | None:
    """Return the report of rows whose label counted, None if there are none."""
    is_known = ~np.isnan(outcomes)
    if not is_known.any():
        return None
    raw = rows.scores
    if recalibrator.kind == "logit":
        raw = np.exp(raw - raw.max(axis=1, keepdims=True))
        raw /= raw.sum(axis=1, keepdims=True)
    known = [recalibrator.classes[int(column)] for column in outcomes[is_known]]
    return ClassReport(raw[is_known], predicted[is_known], known, classes=recalibrator.classes)


def as_dict(found: ClassReport | None, rows: int) -> dict[str, Any]:
    """Return the measures before and after for --json."""
    if found is None:
        return {"rows": rows, "measured": 0}
    return {
        "rows": rows,
        "measured": found.after.rounds,
        "verdict": found.verdict.word,
        "before": numbers_of(found.before),
        "after": numbers_of(found.after),
        "miscalibrated_classes": {
            "before": [str(found.classes[each.column]) for each in found.before.miscalibrated],
            "after": [str(found.classes[each.column]) for each in found.after.miscalibrated],
        },
    }


def numbers_of(summary: ClassSummary) -> dict[str, float]:
    """Return the measures of rows, and what chance explains of two of them."""
    return {
        "log_loss": summary.log_loss,
        "brier": summary.brier,
        "confidence_ece": summary.confidence_ece,
        "confidence_ece_by_chance": summary.confidence_chance,
        "classwise_ece": summary.classwise_ece,
        "classwise_ece_by_chance": summary.classwise_chance,
    }


def show(found: ClassReport | None, recalibrator: MulticlassRecalibrator, rows: int) -> None:
    """Print the verdict, the measures and the classes that are miscalibrated."""
    if found is None:
        console.out.print(f"{rows:,} rows, none of which has a label: nothing to measure.")
        return
    console.out.print(found.verdict.size)
    grid = Grid("measure", "before", "after", "by chance")
    for name, *numbers in found.rows:
        grid.add_row(name, *numbers)
    console.out.print(grid)
    for when, summary in (("before", found.before), ("after", found.after)):
        off = summary.miscalibrated
        names = ", ".join(str(found.classes[each.column]) for each in off[:SHOWN])
        more = f" and {len(off) - SHOWN} more" if len(off) > SHOWN else ""
        console.out.print(f"Miscalibrated classes {when}: {names or 'none'}{more}.")
    heaviest = recalibrator.weights()[:3]
    words = "; ".join(f"{each.words} ({each.weight:.0%})" for each in heaviest)
    console.out.print(f"Predictions rest on: {words}.")
