"""``calibrant compare FILE``: calibrant and other methods on your own scores or numbers.

Every method gets the same rows, and each outcome when it became known. Nothing is chosen in
hindsight except the best of the other methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import typer
from rich.text import Text

from calibrant import NumberRecalibrator, Recalibrator
from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.cli.recalibrate_numbers import FIRST, bounded, measured
from calibrant.measures import Change, Scorecard
from calibrant.measures.chance import Differences
from calibrant.measures.numbers import pinball_losses
from calibrant.monitor.monitor import Arrivals
from calibrant.recalibrate import rivals
from calibrant.recalibrate.number_rows import Forecasts, recalibrate_numbers, take_forecasts
from calibrant.recalibrate.rivals.numbers import SETTINGS
from calibrant.recalibrate.rows import checked, recalibrate_rows, take_rows
from calibrant.report.before_after import log_loss_changes, log_losses
from calibrant.report.style import show_number
from calibrant.report.verdict import who_wins
from calibrant.tables import InputError
from calibrant.tables.scored import prepare

OURS = "calibrant"
RIVALS: dict[str, Callable[[], rivals.Rival]] = {
    "raw scores": rivals.Raw,
    "Platt refit": partial(rivals.WindowedRefit, "sigmoid"),
    "isotonic refit": partial(rivals.WindowedRefit, "isotonic"),
    "online Platt": rivals.OnlinePlatt,
    "online beta": rivals.OnlineBeta,
    "calibeating": rivals.Calibeating,
    "TOPS": rivals.TOPS,
    "HOPS": rivals.HOPS,
    "Kuleshov-Ermon": rivals.KuleshovErmon,
}


@dataclass(frozen=True)
class Comparison:
    """Figures by method, ours first, and how our loss differs from those of the others."""

    read: str
    loss: str
    figures: Mapping[str, Mapping[str, float]]
    changes: Mapping[str, Change]
    notes: tuple[str, ...] = ()
    checks: tuple[dict[str, str], ...] = ()

    @property
    def in_words(self) -> str:
        """Who wins."""
        return who_wins(self.changes, f"{len(self.changes)} other methods", self.loss)

    def show(self) -> None:
        """Print what was read, the methods from best to worst, and which one wins."""
        console.say(f"{self.read}\n")
        names = sorted(self.figures, key=lambda name: self.figures[name][self.loss])
        head = ["", *self.figures[OURS], "above calibrant's"]
        # Differences get one digit more than the three significant digits of the loss.
        digits = max(0, 3 - int(np.floor(np.log10(max(self.figures[OURS][self.loss], 1e-9)))))
        rows: list[list[str | Text]] = []
        for name in names:
            figures = [show_number(value, fine=True) for value in self.figures[name].values()]
            change, above = self.changes.get(name), ""
            if change is not None:
                mean, low, high = (
                    f"{-each:+.{digits}f}" for each in (change.mean, change.high, change.low)
                )
                above = f"{mean} ({low} to {high})"
            rows.append([Text(name, style="bold" if name == OURS else ""), *figures, above])
        title = f"By {self.loss}, lowest first; differences with 95% intervals"
        console.out.print(console.table(title, head, rows))
        console.say(f"\n{self.in_words}", fold=True)
        for note in self.notes:
            console.say(note, fold=True)

    def as_object(self) -> dict[str, Any]:
        """Return the comparison for JSON, with null for infinite values."""
        return {
            "methods": {
                name: {
                    key.replace(" ", "_"): value if np.isfinite(value) else None
                    for key, value in figures.items()
                }
                for name, figures in self.figures.items()
            },
            "differences": {
                name: {"mean": each.mean, "low": each.low, "high": each.high}
                for name, each in self.changes.items()
            },
            "in_words": self.in_words,
            "notes": self.notes,
            "checks": self.checks,
        }


def compare_given(given: Mapping[str, Any]) -> None:
    """Compare methods on a file by the options of the command."""
    if (given["score"] is None) == (given["forecast"] is None):
        raise ValueError(
            "give --score for a column of scores, or --forecast for a column of forecasts of a "
            "number"
        )
    if given["available"] is not None and given["time"] is None:
        raise ValueError("--available needs --time")
    found = (compare_scores if given["score"] is not None else compare_numbers)(given)
    if given["json"]:
        typer.echo(json.dumps(found.as_object()))
    else:
        found.show()


def compare_scores(given: Mapping[str, Any]) -> Comparison:
    """Play a recalibrator and its rivals on the scores of a file."""
    with console.err.status(Text(f"reading {given['source']}")):
        table = console.read_source(given["source"], given["delimiter"])
        clocks = (given["time"], given["available"])
        table, done = prepare(table, score=given["score"], sort=given["sort"], clocks=clocks)
        parts = ("score", "outcome", "time", "available", "positive")
        rows = take_rows(table, **{part: given[part] for part in parts})
    for line in (table.note, rows.note, *done):
        console.note(line)
    recalibrator = Recalibrator()
    checks = checked(recalibrator, rows, given["allow"] or (), table.source)
    is_known = ~np.isnan(rows.outcomes)
    if not is_known.any():
        raise InputError("no outcome is known: every value is missing", source=table.source)
    predictions: dict[str, Floats] = {}
    with console.progress() as bar:
        task = bar.add_task("comparing", total=1 + len(RIVALS))
        found = recalibrate_rows(recalibrator, rows)
        predictions[OURS] = found.predictions
        learned_by = np.arange(1, len(rows.scores) + 1)
        if found.known is not None:
            made = np.arange(float(len(learned_by))) if rows.clock is None else rows.clock.ticks
            learned_by = Arrivals.at(made, found.known).after
        for name, make in RIVALS.items():
            bar.advance(task)
            predictions[name] = make().play_late(rows.scores, rows.outcomes, learned_by)
    outcomes, figures, changes = rows.outcomes[is_known], {}, {}
    for name, predicted in predictions.items():
        card, differences = Scorecard(), Differences()
        theirs = predicted[is_known]
        card.extend(theirs, outcomes)
        differences.extend(*log_loss_changes(theirs, predictions[OURS][is_known], outcomes))
        figures[name] = {"log loss": float(log_losses(theirs, outcomes).mean()),
                         "Brier score": card.brier, "ECE": card.ece}  # fmt: skip
        if name != OURS:
            changes[name] = differences.change()
    return Comparison(
        f"{table.source}: {int(is_known.sum()):,} rounds with an outcome, scores "
        f"{given['score']!r}, outcomes {rows.outcome_column!r}",
        "log loss", figures, changes,
        tuple(f"{'Doubtful: ' if each.is_open else ''}{each.message}" for each in checks),
        tuple(each.as_object() for each in checks),
    )  # fmt: skip


def compare_numbers(given: Mapping[str, Any]) -> Comparison:
    """Play a recalibrator of numbers and its rivals on the forecasts of a file."""
    if given["outcome"] is None:
        raise ValueError("--forecast needs --outcome")
    with console.err.status(Text(f"reading {given['source']}")):
        table = console.read_source(given["source"], given["delimiter"])
        clocks = (given["time"], given["available"])
        table, done = prepare(table, sort=given["sort"], clocks=clocks)
        parts = ("forecast", "outcome", "time", "available")
        rows = take_forecasts(table, **{part: given[part] for part in parts})
    for line in (table.note, *done):
        console.note(line)
    usable = ~np.isnan(rows.forecasts + rows.outcomes)
    late, notes = 0, []
    if rows.clock is not None and rows.available is not None:
        usable &= ~np.isnan(rows.available.ticks)
        waits = Arrivals.at(rows.clock.ticks[usable], rows.available.ticks[usable]).waits
        late = int(np.median(waits)) if np.isfinite(np.median(waits)) else len(waits)
        notes.append(
            f"The other methods support only a fixed delay: they get each outcome {late:,} rows "
            "late, the median delay."
        )
    forecasts, outcomes = rows.forecasts[usable], rows.outcomes[usable]
    if len(outcomes) < 2 * FIRST:
        raise InputError(
            f"only {len(outcomes):,} rows have a forecast and an outcome; a comparison needs at "
            f"least {2 * FIRST}, of which the first {FIRST} are not measured",
            source=table.source,
        )
    if len(outcomes) < len(table):
        notes.append(
            f"{len(table) - len(outcomes):,} of {len(table):,} rows lack a forecast or an outcome "
            "and are left out."
        )
    at = np.flatnonzero(usable)
    kept = Forecasts(
        forecasts, outcomes, None if rows.clock is None else rows.clock.take(at),
        None if rows.available is None else rows.available.take(at), None,
    )  # fmt: skip
    quantiles: dict[str, Floats] = {}
    with console.progress() as bar:
        task = bar.add_task("comparing", total=1 + len(SETTINGS))
        recalibrator = NumberRecalibrator()
        quantiles[OURS] = recalibrate_numbers(recalibrator, kept)
        for name, make in SETTINGS.items():
            bar.advance(task)
            quantiles[name] = make(recalibrator.levels).run(forecasts, outcomes, late=late)
    levels, figures, changes = recalibrator.levels, {}, {}
    losses = {
        name: pinball_losses(bounded(told, outcomes), levels, outcomes).mean(axis=1)[FIRST:]
        for name, told in quantiles.items()
    }
    for name, told in quantiles.items():
        figures_of = measured(levels, told, forecasts, outcomes)
        widest = figures_of["intervals"][-1]
        figures[name] = {
            "pinball loss": figures_of["pinball"], "interval score": widest["interval_score"],
            "coverage": widest["observed"],
        }  # fmt: skip
        if name != OURS:
            differences = Differences()
            differences.extend(losses[OURS] - losses[name])
            changes[name] = differences.change()
    return Comparison(
        f"{table.source}: {len(outcomes):,} rows, forecasts {given['forecast']!r}, outcomes "
        f"{given['outcome']!r}; the first {FIRST} are not measured; interval score and coverage "
        "are those of the 90% interval",
        "pinball loss", figures, changes, tuple(notes),
    )  # fmt: skip
