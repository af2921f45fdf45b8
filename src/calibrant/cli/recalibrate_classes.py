"""``calibrant recalibrate FILE --scores a,b,c``: scores of several classes become probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import typer
from rich.text import Text

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
#: At most so many classes are named in a line.
SHOWN = 8


def recalibrate_given(given: dict[str, Any]) -> None:
    """Recalibrate the scores of a file with the options of the command.

    Options that do not apply are refused. The rows are written with their probabilities, and the
    gain is printed.
    """
    source, out, state, report = (given[name] for name in ("source", "out", "state", "report"))
    if given["outcome"] is None or source == "-":
        raise ValueError("--scores needs a FILE and --outcome")
    console.refuse_others(given, TAKEN, "--scores")
    start = f"{given['column'] or 'calibrated'}_"
    with console.err.status(Text(f"reading {source}")):
        table = console.read_source(source, given["delimiter"])
        parts = ("scores", "outcome", "kind", "time", "available", "due", "by")
        labels, rows = take_classes(table, **{name: given[name] for name in parts})
        for name in probability_columns(labels, np.empty((0, len(labels))), start):
            if out is not None and name in table.columns:
                raise ValueError(f"{source} already has a column {name!r}; choose another --column")
    policy = {name: given[name] for name in ("silence", "after", "hold")}
    recalibrator = MulticlassRecalibrator(labels, given["kind"], seed=given["seed"], **policy)
    if state is not None and state.exists():
        fresh, recalibrator = recalibrator, MulticlassRecalibrator.load(state)
        names = ("classes", "kind", *policy)
        if any(getattr(fresh, name) != getattr(recalibrator, name) for name in names):
            raise ValueError(f"{state} was saved with other classes or options: {recalibrator!r}")
    console.note(table.note)
    with console.err.status("recalibrating"):
        predicted, outcomes = recalibrate_classes(recalibrator, rows)
    if out is not None:
        write(out, table.with_columns(probability_columns(labels, predicted, start)))
        console.note(f"wrote {out}")
    if state is not None:
        recalibrator.save(state)
    found = measured(recalibrator, rows, predicted, outcomes)
    if report is not None and found is not None:
        found.save(report)
        console.note(f"wrote {report}")
    if given["json"]:
        typer.echo(json.dumps(as_dict(found, len(predicted))))
    else:
        console.say(
            f"{table.source}: {len(predicted):,} rounds, {len(labels)} classes, scores "
            f"{given['scores']!r}, outcomes {given['outcome']!r}"
        )
        show(found, recalibrator, len(predicted))


def measured(
    recalibrator: MulticlassRecalibrator, rows: ClassRows, predicted: Floats, outcomes: Floats
) -> ClassReport | None:
    """Return the report on rows with a label, None if there are none."""
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
    """Return the measures of rows, with the part of two of them that chance explains."""
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
        console.out.print(f"{rows:,} rows, none with a label: nothing to measure.")
        return
    head = ["", "before", "after", "by chance"]
    rows_of_it: list[list[str | Text]] = [list(row) for row in found.rows]
    measures = console.table("Before and after (lower is better)", head, rows_of_it)
    console.out.print("", measures, sep="\n")
    console.out.print(f"\n[bold]Verdict: {found.verdict.word}[/]")
    console.say(found.verdict.size, fold=True)
    for when, summary in (("before", found.before), ("after", found.after)):
        off = summary.miscalibrated
        names = ", ".join(str(found.classes[each.column]) for each in off[:SHOWN])
        more = f" and {len(off) - SHOWN} more" if len(off) > SHOWN else ""
        console.say(f"Miscalibrated classes {when}: {names or 'none'}{more}.", fold=True)
    heaviest = recalibrator.weights()[:3]
    words = "; ".join(f"{each.words} ({each.weight:.0%})" for each in heaviest)
    console.say(f"\nThe predictions are now based on: {words}.", fold=True)
