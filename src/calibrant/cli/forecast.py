"""``calibrant forecast``: forecast the outcomes in a file or pipe from past outcomes alone."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.text import Text

from calibrant._checks import Floats, check_integer, check_seed
from calibrant.checks import Columns, check_columns, refuse
from calibrant.cli import console
from calibrant.cli.arguments import (
    FORECASTER,
    Allow,
    AsJson,
    DateFormat,
    Delimiter,
    Options,
    OutcomeColumn,
    OutFile,
    Positive,
    ReportFile,
    Seed,
    Sort,
    Source,
    TrustOrder,
    of_column,
    option,
    taking,
)
from calibrant.forecasters import EventForecaster, Forecaster
from calibrant.forecasters.arrivals import (
    Arrivals,
    at_once,
    by_clock,
    forecast_parts,
    last_estimates,
    used_from,
)
from calibrant.forecasters.event_forecaster import MOST_AHEAD
from calibrant.forecasters.memories import Memory, heaviest_in_words
from calibrant.forecasters.named import make, parameters
from calibrant.measures import Scorecard
from calibrant.monitor import Monitor
from calibrant.monitor.monitor import Arrivals as MonitorArrivals
from calibrant.recalibrate.rows import check_time
from calibrant.report import forecasting
from calibrant.report.timeline import Timeline
from calibrant.report.watch_page import WatchReport, watch_rounds
from calibrant.tables import Clock, InputError, Table, follow, write
from calibrant.tables.atomic import replacing
from calibrant.tables.columns import facts_of
from calibrant.tables.errors import listed
from calibrant.tables.reading import standard_input
from calibrant.tables.roles import likely_scores
from calibrant.tables.scored import prepare

DEFAULT = "event-forecaster"
BASELINES = ("zoom", "running-mean")
#: Of these, the one with the lowest log loss is shown.
SIMPLE = (
    "exponential-window:halflife=10", "exponential-window:halflife=100",
    "exponential-window:halflife=1000", "markov-table:order=1", "markov-table:order=4",
    "markov-table:order=8", "seasonal-table:period=7", "seasonal-table:period=24",
)  # fmt: skip
#: A season is counted in outcomes, so these would be wrong where outcomes arrive late.
SEASONAL = "seasonal-table"
WINDOW = 1000
STEPS = 50

READING = (
    "The better calibrated and the sharper the forecasts, the lower their Brier score and log "
    "loss. Cal2 measures calibration alone, exactly and without bins: it is 0 if the share of "
    "events equals the prediction, for each distinct prediction. It is meaningful if predictions "
    "repeat, and those of the simple rivals hardly ever do; compare these by ECE, its binned "
    "counterpart."
)
LATE = (
    "The other forecasters do not support late outcomes: they get the outcomes in order of "
    "arrival, and repeat their last prediction until the next outcome arrives."
)
AFRESH = "The other forecasters have no saved state: they start with this file."
#: How many forecasts after the last outcome are listed in the terminal.
MOST_FOLLOWING = 10


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(Options):
    """The options of ``calibrant forecast``."""

    source: Source
    outcome: OutcomeColumn = None
    positive: Positive = None
    time: Annotated[
        str | None,
        of_column(
            "Column of the time of each outcome: its hour, weekday and month are then "
            "used, and the gaps between rows."
        ),
    ] = None
    available: Annotated[
        str | None,
        of_column(
            "Column of the times at which outcomes became known, on the same clock as --time: "
            "only later forecasts use them. Empty for never."
        ),
    ] = None
    ahead: Annotated[
        int | None,
        option(
            "N",
            "Forecast this many rows ahead; in a pipe, answer each line with the forecast "
            "of the line this many later.",
        ),
    ] = None
    forecaster: Annotated[str, option("SPEC", f"The forecaster: {FORECASTER}")] = DEFAULT
    delimiter: Delimiter = None
    seed: Seed = 0
    out: OutFile = None
    column: Annotated[
        str | None,
        option("NAME", "Name of the new column in --out; prediction by default."),
    ] = None
    next: Annotated[
        bool,
        typer.Option(
            "--next",
            help="Also forecast the row after the last one. Rows without an outcome at the end "
            "are always forecast.",
        ),
    ] = False
    state: Annotated[
        Path | None,
        option(
            "FILE",
            "Load the forecaster from this file if it exists, and save it there after the "
            "last outcome.",
        ),
    ] = None
    sort: Sort = None
    date_format: DateFormat = None
    trust_order: TrustOrder = False
    allow: Allow = None
    report: ReportFile = None
    json: AsJson = False

    @property
    def new_column(self) -> str:
        """The name of the column with the predictions."""
        return self.column or "prediction"

    @property
    def is_default(self) -> bool:
        """Whether the forecaster is the default, which supports times and late outcomes."""
        return self.forecaster.split(":")[0].strip() == DEFAULT

    def spec(self, **more: object) -> str:
        """Return the spec of the forecaster with these parameters, and with `ahead` if not 1."""
        if self.ahead not in (None, 1):
            more = {"ahead": self.ahead, **more}
        if not more:
            return self.forecaster
        given = ",".join(f"{name}={value}" for name, value in more.items())
        return f"{self.forecaster}{',' if ':' in self.forecaster else ':'}{given}"


@taking(ForecastOptions)
def forecast(**given: Any) -> None:
    """Forecast the outcomes in FILE from past outcomes alone, and compare with simple rivals.

    Each probability is made before its own outcome is used. With -, outcomes are read from a pipe,
    and each line is answered at once.
    """
    if given["trust_order"]:
        given["allow"] = f"{given['allow']},order" if given["allow"] else "order"
    options = ForecastOptions(**given)
    source, out, report = options.source, options.out, options.report
    ahead, forecaster = options.ahead, options.forecaster
    with console.clean_end():
        console.check_outputs(source, out, report, options.column)
        check_seed(options.seed)
        parameters(forecaster)  # refuses unknown forecasters before anything is read
        if ahead is not None:
            check_integer("--ahead", ahead, 1, MOST_AHEAD)
        if ahead not in (None, 1) and not options.is_default:
            raise ValueError(
                f"--ahead {ahead} needs the default forecaster; {forecaster} forecasts only the "
                "next row"
            )
        if source != "-" or out or report or options.json:
            forecast_file(options)
            return
        for name in ("time", "available"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} needs a FILE: lines of a pipe are outcomes alone")
        if options.next:
            raise ValueError("--next needs a FILE: in a pipe, --ahead 1 forecasts the next line")
        answer_lines(options)


def begin(
    options: ForecastOptions, rounds: int | None = None, **more: object
) -> tuple[ForecastOptions, Forecaster]:
    """Return the options, and the forecaster: the saved one, if there is one."""
    forecaster = make(options.spec(**more), seed=options.seed, rounds=rounds)
    if options.state is None or not options.state.exists():
        return options, forecaster
    saved = type(forecaster).load(options.state)
    console.note(f"{options.state}: continuing after {saved.rounds:,} rounds")
    if isinstance(saved, EventForecaster):
        if options.ahead not in (None, saved.ahead):
            raise ValueError(
                f"{options.state} was saved with ahead={saved.ahead}, got {options.ahead}"
            )
        options = replace(options, ahead=saved.ahead if saved.ahead > 1 else options.ahead)
    return options, saved


def answer_lines(options: ForecastOptions) -> None:
    """Answer each line of standard input at once; score the answers at its end.

    The answer is the forecast of the line itself or, `ahead`, of the line that many later.
    """
    options, forecaster = begin(options)
    if options.state is not None and options.ahead not in (None, 1):
        raise ValueError(f"in a pipe, --state needs --ahead 1, got {options.ahead}")
    lines = standard_input()
    card, ahead = Scorecard(window=WINDOW), options.ahead or 0
    late = forecaster if ahead > 1 and isinstance(forecaster, EventForecaster) else None
    if late is not None:
        late._late._book.collect()

    def answer() -> None:
        """Write the forecast of the last line that can be forecast by now."""
        forecast = forecaster.predict() if late is None else late.predict(id=late.rounds)
        sys.stdout.write(f"{forecast!r}\n")
        sys.stdout.flush()

    for _ in range(ahead):
        answer()
    for row, value in enumerate(
        follow(
            lines, outcome=options.outcome, positive=options.positive, delimiter=options.delimiter,
            announce=console.note,
        )
    ):  # fmt: skip
        if not ahead:
            answer()
        if late is None:
            card.add(forecaster.predict(), value)  # as predicted: nothing was learned since
            forecaster.update(value)
        else:
            late.update(value, id=row)
            card.add(late._late._book.take_settled().prediction[0], value)
        if ahead:
            answer()
    if options.state is not None:
        forecaster.save(options.state)
    console.err.print(console.scorecards({options.spec(): card}))


@dataclass(frozen=True, eq=False)
class Rows:
    """What a forecast takes from a table; `clock` also has the times of the following rows."""

    table: Table
    column: str
    outcomes: Floats
    clock: Clock | None
    arrivals: Arrivals | None
    available: Clock | None
    following: Following

    @property
    def times(self) -> Clock | None:
        """When the rows with an outcome were."""
        return None if self.clock is None else self.clock.take(np.arange(len(self.outcomes)))


class Following(NamedTuple):
    """The rows to forecast after the last outcome: their names and times."""

    names: list[str]
    moments: Floats | None


def forecast_file(options: ForecastOptions) -> None:
    """Forecast a whole file, with the baselines; write the outputs that were requested."""
    # The report is opened first: if it cannot be written, nothing else is.
    opened = nullcontext() if options.report is None else replacing(options.report)
    with opened as report:
        rows = take_rows(options)
        result = forecast_rows(options, rows)
        page = b"" if report is None else drawn_page(options, rows, result)
        if options.out is not None:
            with console.err.status(Text(f"writing {options.out}")):
                column = np.append(result.own, [forecast for _, forecast in result.following])
                write(
                    options.out,
                    rows.table.with_column(options.new_column, column[: len(rows.table)]),
                )
        if report is not None:
            report.write(page)
    if options.state is not None:
        result.forecaster.save(options.state)
    if options.json:
        typer.echo(json.dumps(in_json(result)))
    else:
        show(options, rows, result)


def drawn_page(options: ForecastOptions, rows: Rows, result: Result) -> bytes:
    """Return the report of a forecast."""
    with console.err.status("drawing"):
        report = forecasting(
            result.shown, rows.outcomes, memories=result.memories,
            times=rows.table.row_called if rows.times is None else rows.times,
            title=f"{Path(rows.table.source).name}: forecasts and outcomes",
            made=provenance(options, rows),
        )  # fmt: skip
        return report.html().encode()


def provenance(options: ForecastOptions, rows: Rows) -> dict[str, str]:
    """Return how the page was made, and the command that repeats the run."""
    columns = {"outcome": rows.column, "time": options.time, "available": options.available}
    rows_later = "the next row" if options.ahead in (None, 1) else f"{options.ahead} rows later"
    known = f"used from {rows_later} on"
    if options.available is not None:
        known += f", once known (column {options.available!r})"
    return {
        "command": options.command("forecast"),
        "file": f"{rows.table.source}, {len(rows.outcomes):,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "outcomes are": known,
        "forecaster": options.spec(),
        "seed": str(options.seed),
    }


def take_rows(options: ForecastOptions) -> Rows:
    """Read the file, and print what was guessed."""
    if options.available is not None and options.time is None:
        raise ValueError("--available needs --time, the time of each row")
    if options.available is not None and options.state is not None:
        raise ValueError(
            "--state cannot be combined with --available: outcomes that become known after the "
            "last row would be lost"
        )
    for each in ("time", "available"):
        if getattr(options, each) is not None and not options.is_default:
            raise ValueError(
                f"--{each} needs the default forecaster; {options.forecaster} does not use times"
            )
    with console.err.status(Text(f"reading {options.source}")):
        table = console.read_source(options.source, options.delimiter)
        table, done = prepare(
            table, sort=options.sort, date_format=options.date_format,
            clocks=(options.time, options.available),
        )  # fmt: skip
        if options.out is not None:
            console.check_column(table, options.new_column)
        name, note = options.outcome, None
        if name is None:
            name, note = table.guess("outcome")
        cells = table.cells(name)
        outcomes = cells.outcomes(positive=options.positive, missing=True)
        known = len(outcomes) - int(np.isnan(outcomes)[::-1].cumprod().sum())
        if options.available is not None:
            known = len(outcomes)
        elif np.isnan(outcomes[:known]).any():
            cells.outcomes(positive=options.positive)  # raises for the first row without one
        if np.isnan(outcomes).all():
            raise InputError(
                "no outcome is known: every value is missing", source=table.source, column=name
            )
        clock = arrivals = later = None
        if options.time is not None:
            clock = table.cells(options.time).clock()
            check_time(table, options.time)
            clock.check_order()
            if (np.diff(clock.ticks[:known]) == 0.0).any():
                # Rows with the same time are a batch: none can depend on another's outcome.
                times = clock.take(np.arange(known))
                arrivals = by_clock(times, times, ~np.isnan(outcomes[:known]))
        if options.available is not None:
            assert clock is not None
            later = table.cells(options.available).clock()
            arrivals = by_clock(clock, later, ~np.isnan(outcomes))
    following, outcomes = following_rows(options, table, clock, known), outcomes[:known]
    for line in (table.note, note, *done, unused_score(table, name)):
        console.note(line)
    found = check_columns(
        Columns(outcomes, made=None if clock is None else clock.ticks[:known]),
        options.allow or (),
    )
    refuse(found, table.source)
    for finding in found:
        console.note(f"{table.source}: {finding.message}")
    return Rows(table, name, outcomes, clock, arrivals, later, following)


def following_rows(
    options: ForecastOptions, table: Table, clock: Clock | None, known: int
) -> Following:
    """Return the rows of a table from `known` on or, with --next, the one after the last."""
    rows = range(known, len(table))
    if rows or not options.next:
        names = [table.row_called(row) if clock is None else clock.shown(row) for row in rows]
        return Following(names, None if clock is None else clock.ticks[known:])
    if clock is None:
        return Following([f"row {len(table) + 1:,}"], None)
    steps = np.diff(clock.ticks)
    steps = steps[steps > 0.0]
    moment = float(clock.ticks[-1] + (np.median(steps) if len(steps) else 0.0))
    name = f"{moment:g}"
    if clock.sort != "numbers":
        at = np.datetime64(round(moment), "s")
        is_day = at == at.astype("datetime64[D]")
        name = str(at.astype("datetime64[D]" if is_day else "datetime64[m]")).replace("T", " ")
    return Following([name], np.array([moment]))


@dataclass(frozen=True, eq=False)
class Result:
    """The predictions of the requested forecaster and of others, and their measures."""

    forecaster: Forecaster
    shown: dict[str, Floats]
    cards: dict[str, Scorecard]
    memories: list[tuple[int, list[Memory]]]
    best: str
    rivals: int
    watched: WatchReport
    following: list[tuple[str, float]]

    @property
    def own(self) -> Floats:
        """The predictions of the requested forecaster."""
        return next(iter(self.shown.values()))


def forecast_rows(options: ForecastOptions, rows: Rows) -> Result:
    """Forecast the rows with the requested forecaster and with every baseline."""
    more = {} if rows.arrivals is None else {"capacity": len(rows.outcomes)}
    options, forecaster = begin(options, len(rows.outcomes), **more)
    is_late = rows.arrivals is not None or options.ahead not in (None, 1)
    own = options.spec()
    simple = [
        each for each in SIMPLE
        if each != own and not (is_late and each.startswith(SEASONAL))
    ]  # fmt: skip
    others = [each for each in (*BASELINES, *simple) if each != own]
    known = ~np.isnan(rows.outcomes)
    used = used_from(rows.arrivals or at_once(known), options.ahead or 1) if is_late else None
    with console.progress() as bar:
        task = bar.add_task("forecasting", total=STEPS + len(others))
        parts, means, memories, rounds = [], [], [], 0
        for part, mean in played(forecaster, rows):
            parts.append(part)
            means.append(mean)
            rounds += len(part)
            if isinstance(forecaster, EventForecaster) and len(part):
                memories.append((rounds, forecaster.weights()))
            bar.advance(task)
        if rows.arrivals is not None and rows.available is None:
            learn_the_last(forecaster, rows, rows.arrivals)
        predictions = {own: np.concatenate(parts)}
        for each in others:
            rival = make(each, seed=options.seed, rounds=len(rows.outcomes))
            if used is None:
                predictions[each] = rival.run(rows.outcomes)
            else:
                predictions[each] = last_estimates(rival, rows.outcomes, used)
            bar.advance(task)
    cards = {}
    for name, said in predictions.items():
        cards[name] = Scorecard(window=WINDOW)
        cards[name].extend(said[known], rows.outcomes[known])
    best = min(simple, key=lambda each: cards[each].log_loss)
    shown = [name for name in predictions if name not in simple or name == best]
    return Result(
        forecaster, {name: predictions[name] for name in shown},
        {name: cards[name] for name in shown}, memories, best, len(simple),
        watch(np.concatenate(means), rows, own, used), forecast_next(forecaster, rows),
    )  # fmt: skip


def forecast_next(forecaster: Forecaster, rows: Rows) -> list[tuple[str, float]]:
    """Return the forecasts of the rows after the last outcome, without changing the forecaster."""
    names, moments = rows.following
    if not isinstance(forecaster, EventForecaster):
        return [(name, float(forecaster.predict())) for name in names]
    copy, found = EventForecaster.from_bytes(forecaster.to_bytes()), []
    first = forecaster.rounds - len(rows.outcomes)
    for at, name in enumerate(names):
        moment = None if moments is None else float(moments[at])
        if rows.arrivals is not None and rows.available is not None and moment is not None:
            waiting = rows.arrivals.order[int(rows.arrivals.known[-1]) :]
            for late in waiting[rows.available.ticks[waiting] < moment].tolist():
                copy.update(rows.outcomes[late], id=first + late)
        copy.predict(at=moment)
        found.append((name, float(copy.predict(id=f"following {at}"))))
    return found


def learn_the_last(forecaster: Forecaster, rows: Rows, arrivals: Arrivals) -> None:
    """Learn the outcomes of rows with the last time: every next row is later."""
    assert isinstance(forecaster, EventForecaster)
    first = forecaster.rounds - len(rows.outcomes)
    for late in arrivals.order[int(arrivals.known[-1]) :].tolist():
        forecaster.update(rows.outcomes[late], id=first + late)


def watch(expected: Floats, rows: Rows, name: str, used: Arrivals | None) -> WatchReport:
    """Return what a monitor finds in expected predictions, where outcomes are known.

    `used` holds the outcomes that each prediction could use; None for those of all rows before it.
    """
    has_one = np.flatnonzero(~np.isnan(rows.outcomes))
    timeline = Timeline.from_times(rows.times, has_one, len(rows.outcomes))
    late = None
    if used is not None:
        known = np.full(len(expected), np.nan)
        # The first row that uses an outcome is predicted after it became known.
        known[used.order] = (
            np.searchsorted(used.known, np.arange(len(used.order)), side="right") - 0.5
        )
        late = MonitorArrivals.at(has_one.astype(np.float64), known[has_one])
    return watch_rounds(
        expected[has_one], rows.outcomes[has_one], None, timeline, Monitor(), name, late
    )


def played(forecaster: Forecaster, rows: Rows) -> Iterator[tuple[Floats, Floats]]:
    """Yield the predictions of the requested forecaster, and their expected values, in parts."""
    if isinstance(forecaster, EventForecaster):
        seconds = None if rows.times is None else rows.times.ticks
        yield from forecast_parts(
            forecaster, rows.outcomes, STEPS, times=seconds, arrivals=rows.arrivals
        )
        return
    for part in np.array_split(rows.outcomes, STEPS):
        yield forecaster._run_with_means(forecaster.run, part)


def show(options: ForecastOptions, rows: Rows, result: Result) -> None:
    """Print what was read, the measures, what they mean, and the files that were written."""
    rounds = len(rows.outcomes)
    console.say(
        f"{rows.table.source}: {rounds:,} rounds, column {rows.column!r}, "
        f"mean outcome {np.nanmean(rows.outcomes):.4f}"
    )
    if rows.arrivals is not None and rows.available is not None:
        arrived = int(rows.arrivals.known[-1])
        console.say(
            f"outcomes known by the last row: {arrived:,}; "
            f"missing or never known: {rounds - len(rows.arrivals.order):,}"
        )
    console.say("")
    console.out.print(console.scorecards(result.cards))
    console.say(f"\nOf {result.rivals} simple rivals, {result.best} has the lowest log loss.")
    if rows.arrivals is not None or options.ahead not in (None, 1):
        console.say(LATE, fold=True)
    if options.state is not None:
        console.say(AFRESH, fold=True)
    console.show_episodes({options.spec(): result.watched})
    if isinstance(result.forecaster, EventForecaster):
        words = heaviest_in_words(result.forecaster.weights())
        console.say(f"\nThe forecasts are now based on {words}.", fold=True)
    if result.following:
        console.say("\nForecasts after the last outcome")
        for name, forecast in result.following[:MOST_FOLLOWING]:
            console.say(f"  {name}: {forecast:.4f}")
        if len(result.following) > MOST_FOLLOWING:
            more = len(result.following) - MOST_FOLLOWING
            console.say(f"  and {more:,} more (--json lists all)")
    console.say(f"\n{READING}", fold=True)
    if options.out is not None:
        console.say(f"\nPredictions: {options.out}, column {options.new_column!r}")
    if options.report is not None:
        console.say(f"\nReport, a page for a browser: {options.report}")


def in_json(result: Result) -> dict[str, Any]:
    """Return what the monitor found and the measures for JSON; infinite errors are null."""
    measures = {
        name: {
            row: value if math.isfinite(value := float(getattr(card, row))) else None
            for _, row in console.SCORECARD_ROWS
        }
        for name, card in result.cards.items()
    }
    following = [{"row": name, "forecast": p} for name, p in result.following]
    return {**console.summary_of(result.watched), "measures": measures, "following": following}


def unused_score(rows: Table, outcome: str) -> str | None:
    """Return a note if columns look like a model's scores, which are not used."""
    facts = [facts_of(rows.cells(name)) for name in rows.columns if name != outcome]
    scores = [each.name for each in likely_scores(facts)]
    if not scores:
        return None
    looks = "looks like scores and is" if len(scores) == 1 else "look like scores and are"
    return (
        f"{rows.source}: {listed(scores)} {looks} not used, since outcomes are forecast from past "
        "outcomes alone; to recalibrate scores: calibrant recalibrate --score "
        f"{shlex.quote(scores[0])}"
    )
