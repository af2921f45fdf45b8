"""``calibrant watch``: raise an alarm when predictions are no longer calibrated.

Files are monitored as a whole, pipes line by line (`WatchPipe`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from calibrant import Episode, Monitor
from calibrant.cli import console
from calibrant.cli.arguments import (
    Delimiter,
    OutcomeColumn,
    Positive,
    PredictionColumn,
    ReportFile,
    Source,
    of_column,
    option,
    taking,
)
from calibrant.report.watch_page import BIAS, WatchReport, watching
from calibrant.tables import InputError
from calibrant.tables.cells import finite_number, is_missing, outcome_in
from calibrant.tables.pipes import Line, follow_lines
from calibrant.tables.reading import standard_input
from calibrant.tables.scored import check_parts, take_groups

#: The exit code when an episode is open.
MISCALIBRATED = 3
SOURCE = "standard input"
#: The status line is updated after every so many lines.
LIVE = 100


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of ``calibrant watch``."""

    source: Source
    prediction: PredictionColumn = None
    outcome: OutcomeColumn = None
    positive: Positive = None
    by: Annotated[str | None, of_column("Column of groups, each of which is also monitored.")] = (
        None
    )
    time: Annotated[str | None, of_column("Column of the time of each row, in order.")] = None
    available: Annotated[
        str | None, of_column("Column of the times at which outcomes became known.")
    ] = None
    due: Annotated[str | None, of_column("Column of the deadlines of outcomes.")] = None
    silence: Annotated[
        int | None, option("0|1", "The outcome of rows without one at their deadline.")
    ] = None
    tolerance: Annotated[float, option("X", "Tolerated miscalibration.")] = 0.02
    every: Annotated[
        int, option("N", "At most one false alarm per this many rounds on average.")
    ] = 1_000_000
    delimiter: Delimiter = None
    report: ReportFile = None
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object; in a pipe, one per event.")
    ] = False

    def check(self) -> None:
        """Refuse options that do not go together, or not with a pipe."""
        if self.source == "-" and self.report is None:
            if (self.available, self.due, self.silence) != (None, None, None):
                raise ValueError("--available, --due and --silence need a FILE, not a pipe")
            return
        if self.time is None and (self.available, self.due) != (None, None):
            raise ValueError("--available and --due need --time, the time of each prediction")
        if (self.due is None) != (self.silence is None):
            raise ValueError("--due and --silence must be given together")
        if self.silence not in (None, 0, 1):
            raise ValueError(f"--silence must be 0 or 1, got {self.silence}")


@taking(WatchOptions)
def watch(**given: Any) -> None:
    """Monitor whether the predictions in FILE stay calibrated, and raise an alarm if they do not.

    Prints the episodes of miscalibration: since when, where and by how much. With -, rows are read
    from a pipe, and each alarm is printed at once. The exit code is 3 if an episode is open at the
    end, and 0 otherwise.

    Each prediction is judged by what was known when it was made. If outcomes became known only
    after the next prediction, give their times with --time and --available.
    """
    options = WatchOptions(**given)
    with console.clean_end():
        monitor = Monitor(options.every, tolerance=options.tolerance)
        console.check_outputs(options.source, None, options.report)
        options.check()
        if options.source == "-" and options.report is None:
            WatchPipe(monitor, options).follow(standard_input())
        else:
            found = watch_file(options)
            if options.report is not None:
                with console.err.status(Text(f"writing {options.report}")):
                    found.save(options.report)
            print_episodes(found, as_json=options.json)
            monitor = found.monitor
            if options.report is not None and not options.json:
                console.note(f"wrote {options.report}")
    if monitor.state == "miscalibrated":
        raise typer.Exit(MISCALIBRATED)


# -- files -----------------------------------------------------------------------------------------


def watch_file(options: WatchOptions) -> WatchReport:
    """Monitor the rows of a file that have an outcome, or a deadline with `--silence`."""
    with console.err.status(Text(f"reading {options.source}")):
        rows = console.read_source(options.source, options.delimiter)
        told = rows.take("prediction", options.prediction)
        came = rows.take("outcome", options.outcome, positive=options.positive, missing=True)
        check_parts(told.name, came.name, options.by)
        groups = None if options.by is None else take_groups(rows.cells(options.by))
        clock, available, due = (
            None if name is None else rows.cells(name).clock()
            for name in (options.time, options.available, options.due)
        )
    for note in (rows.note, told.note, came.note):
        console.note(note)
    has_one = ~np.isnan(came.values)
    if available is not None:
        has_one &= ~np.isnan(available.ticks)
    if due is not None and clock is not None:
        has_one |= due.ticks <= clock.ticks[-1]  # later deadlines are still to come
    if not has_one.any():
        raise InputError(
            "no outcome is known: every value is missing", source=rows.source, column=came.name
        )
    # With --available, predictions without an outcome count too: otherwise, outcomes that are
    # reported only if they are 1 would look like predictions that are too low.
    is_watched = has_one if available is None or due is not None else np.ones_like(has_one)
    known = np.flatnonzero(is_watched)
    if not has_one.all():
        fate = "not monitored" if len(known) < len(rows) else "dropped"
        console.note(f"rows without an outcome, {fate}: {np.count_nonzero(~has_one):,}")
    if clock is not None:
        clock.check_order(available=available, due=due, predicted=has_one)
    with console.err.status("monitoring"):
        return watching(
            told.values[known],
            came.values[known],
            by=None if groups is None else [groups[row] for row in known],
            times=None if clock is None else clock.take(known),
            available=None if available is None else available.take(known),
            due=None if due is None else due.take(known),
            silence=options.silence,
            every=options.every,
            tolerance=options.tolerance,
            title=f"{rows.source}: is {told.name} still calibrated?",
        )


def print_episodes(found: WatchReport, *, as_json: bool) -> None:
    """Print the episodes, as a table or as one JSON object."""
    if as_json:
        typer.echo(json.dumps(console.summary_of(found)))
        return
    console.say(found.sentence, fold=True)
    if found.episodes:
        console.out.print("\n", console.table_of("Episodes", found))
        console.say(f"\n{BIAS}", fold=True)


# -- pipes -----------------------------------------------------------------------------------------


class WatchPipe:
    """A monitor over the lines of a pipe, which prints each episode when it begins and ends."""

    def __init__(self, monitor: Monitor, options: WatchOptions) -> None:
        self.monitor, self.options = monitor, options
        self.names: dict[str, str] = {}

    def follow(self, lines: Iterable[bytes]) -> None:
        """Monitor every line, and show the evidence on a terminal meanwhile."""
        with console.err.status("monitoring") as live:
            for line in follow_lines(lines, SOURCE, self.options.delimiter):
                try:
                    episode = self.take(line)
                except InputError as error:
                    raise error.at(source=SOURCE, row=line.number) from None
                except ValueError as error:
                    raise InputError(str(error), source=SOURCE, row=line.number) from None
                if episode is not None:
                    self.show(episode)
                if self.monitor.rounds % LIVE == 0 or episode is not None:
                    live.update(self.line())
        console.note(self.line())

    def take(self, line: Line) -> Episode | None:
        """Add one line to the monitor; lines without an outcome are skipped."""
        if line.is_bare:
            raise ValueError("lines must be JSON objects, or CSV rows after a header")
        if not self.names:
            self.find_columns(line)
        if line.cells is None:
            return None
        cells = {part: line.cells.get(name) for part, name in self.names.items()}
        if is_missing(cells["prediction"]):
            raise InputError("the prediction is missing", column=self.names["prediction"])
        if is_missing(cells["outcome"]):
            return None
        group, at = cells.get("group"), cells.get("time")
        return self.monitor.update(
            finite_number(cells["prediction"], line.decimal),
            outcome_in(cells["outcome"], line.decimal, self.options.positive),
            by=None if is_missing(group) else group,  # type: ignore[arg-type]
            at=None if is_missing(at) else at,
        )

    def find_columns(self, line: Line) -> None:
        """Find the column of each part in the header or in the names of the first object."""
        header = line.header(SOURCE)
        console.note(header.note)
        options = self.options
        columns = {
            "prediction": options.prediction, "outcome": options.outcome, "group": options.by,
            "time": options.time,
        }  # fmt: skip
        for part, given in columns.items():
            if given is not None:
                self.names[part] = header.cells(given).column
            elif part in ("prediction", "outcome"):
                self.names[part], note = header.guess(part)
                console.note(note)
        check_parts(self.names["prediction"], self.names["outcome"], self.names.get("group"))

    def show(self, episode: Episode) -> None:
        """Print an episode that began or ended."""
        typer.echo(json.dumps(console.as_object(episode)) if self.options.json else str(episode))

    def line(self) -> str:
        """Return the state of the monitor in one line."""
        monitor = self.monitor
        return f"{monitor.rounds:,} rounds, {monitor.state}, evidence {monitor.evidence:.2f} of 1"
