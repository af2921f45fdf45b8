"""``calibrant forecast``: forecast the outcomes of a file, or of a pipe, from their past alone."""

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
)
from calibrant.forecasters import EventForecaster, Forecaster
from calibrant.forecasters.arriving import (
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
from calibrant.recalibrate.rows import check_time
from calibrant.report import forecasting
from calibrant.report.timeline import Timeline
from calibrant.report.watch_page import WatchReport, watch_rounds
from calibrant.tables import Clock, InputError, Table, follow, write
from calibrant.tables.columns import facts_of
from calibrant.tables.errors import listed
from calibrant.tables.reading import standard_input
from calibrant.tables.roles import likely_scores
from calibrant.tables.scored import prepare

DEFAULT = "event-forecaster"
BASELINES = ("zoom", "running-mean")
#: Of these, the one with the least log loss stands beside the others.
SIMPLE = (
    "exponential-window:halflife=10", "exponential-window:halflife=100",
    "exponential-window:halflife=1000", "markov-table:order=1", "markov-table:order=4",
    "markov-table:order=8", "seasonal-table:period=7", "seasonal-table:period=24",
)  # fmt: skip
#: A season is counted in outcomes, so these would be wrong where outcomes come late.
SEASONAL = "seasonal-table"
WINDOW = 1000
STEPS = 50

READING = (
    "Brier score and log loss are lower the sharper and the better calibrated forecasts are. Cal2 "
    "asks for calibration alone, exactly and without bins: for each distinct prediction, the share "
    "of events must equal it. It makes sense for predictions that repeat, and those of the simple "
    "rivals hardly ever do; compare them by ECE, its binned counterpart."
)
LATE = (
    "The others know nothing of late outcomes: each is given the outcomes in the order in which "
    "they arrive, and its prediction of the next one stands until then."
)
AFRESH = "The others start over with this file."
#: Forecasts after the last outcome that are listed in the terminal.
MOST_FOLLOWING = 10


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(Options):
    """The options of ``calibrant forecast``, by their names."""

    outcome: str | None = None
    positive: str | None = None
    time: str | None = None
    available: str | None = None
    ahead: int | None = None
    forecaster: str = DEFAULT
    column: str = "prediction"
    next: bool = False
    state: Path | None = None

    @property
    def is_default(self) -> bool:
        """Whether the forecaster is the one that knows times, and outcomes that come late."""
        return self.forecaster.split(":")[0].strip() == DEFAULT

    def spec(self, **more: object) -> str:
        """Return the forecaster with these parameters, and how far ahead if that is not 1."""
        if self.ahead not in (None, 1):
            more = {"ahead": self.ahead, **more}
        if not more:
            return self.forecaster
        given = ",".join(f"{name}={value}" for name, value in more.items())
        return f"{self.forecaster}{',' if ':' in self.forecaster else ':'}{given}"


def forecast(
    source: Source,
    outcome: OutcomeColumn = None,
    positive: Positive = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of when each outcome occurs: its hour, weekday and month then count, and "
            "gaps do.",
        ),
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of when each outcome became known, by the clock of --time: only later "
            "forecasts use it. Empty for never.",
        ),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Forecast so many rows ahead; in a pipe, answer with the forecast of the line "
            "that many later: 1 for the next one.",
        ),
    ] = None,
    forecaster: Annotated[
        str, typer.Option(metavar="SPEC", help=f"The forecaster: {FORECASTER}")
    ] = DEFAULT,
    delimiter: Delimiter = None,
    seed: Seed = 0,
    out: OutFile = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the new column: prediction.", show_default=False
        ),
    ] = None,
    next: Annotated[  # noqa: A002
        bool,
        typer.Option(
            "--next",
            help="Forecast the row after the last one too. Rows at the end without an outcome are "
            "forecast in any case.",
        ),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Continue with the forecaster saved here, if there is one, and save it at the "
            "end, after the last outcome.",
        ),
    ] = None,
    sort: Sort = None,
    date_format: DateFormat = None,
    trust_order: TrustOrder = False,
    allow: Allow = None,
    report: ReportFile = None,
    as_json: AsJson = False,
) -> None:
    """Forecast the outcomes in FILE from their past alone, beside simple rivals.

    Each probability is made before its own outcome is used. With - outcomes come from a pipe: each
    line is answered at once.
    """
    given = dict(locals())
    given["json"] = given.pop("as_json")
    with console.clean_end():
        console.check_outputs(source, out, report, column)
        options = ForecastOptions(**{**given, "column": column or "prediction"})
        check_seed(seed)
        parameters(forecaster)  # refuses what is no forecaster before anything is read
        if ahead is not None:
            check_integer("--ahead", ahead, 1, MOST_AHEAD)
        if ahead not in (None, 1) and not options.is_default:
            raise ValueError(
                f"--ahead {ahead} is for the default forecaster; {forecaster} forecasts the next "
                "row alone"
            )
        if source != "-" or out or report or as_json:
            forecast_file(options)
            return
        for option, column_of in (("time", time), ("available", available)):
            if column_of is not None:
                raise ValueError(f"--{option} needs a FILE: in a pipe, lines hold outcomes alone")
        if next:
            raise ValueError("--next needs a FILE: in a pipe, --ahead 1 answers with the next line")
        answer_lines(options)


def begin(
    options: ForecastOptions, rounds: int | None = None, **more: object
) -> tuple[ForecastOptions, Forecaster]:
    """Return the options, and the forecaster: the saved one, if there is one."""
    forecaster = make(options.spec(**more), seed=options.seed, rounds=rounds)
    if options.state is None or not options.state.exists():
        return options, forecaster
    saved = type(forecaster).load(options.state)
    console.note(f"{options.state}: continues after {saved.rounds:,} rounds")
    if isinstance(saved, EventForecaster):
        if options.ahead not in (None, saved.ahead):
            raise ValueError(
                f"{options.state} forecasts {saved.ahead} ahead, not {options.ahead} as --ahead has"
            )
        options = replace(options, ahead=saved.ahead if saved.ahead > 1 else options.ahead)
    return options, saved


def answer_lines(options: ForecastOptions) -> None:
    """Answer each line of standard input at once; score the answers at its end.

    The answer is the forecast of the line itself or, `ahead`, of the line that many later.
    """
    options, forecaster = begin(options)
    if options.state is not None and options.ahead not in (None, 1):
        raise ValueError(f"--state in a pipe goes with --ahead 1, not {options.ahead}")
    lines = standard_input()
    card, ahead = Scorecard(window=WINDOW), options.ahead or 0
    late = forecaster if ahead > 1 and isinstance(forecaster, EventForecaster) else None
    if late is not None:
        late._late._book.collect()

    def answer() -> None:
        """Say the forecast of the last line that can be forecast by now."""
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
    """What a forecast takes from a table: `clock` has a time for the rows that follow, too."""

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
    """The rows to forecast after the last outcome: what they are called, and when they are."""

    names: list[str]
    moments: Floats | None


def forecast_file(options: ForecastOptions) -> None:
    """Forecast a whole file, beside the baselines; write and report what was asked for."""
    # The report is opened first: if it cannot be written, nothing else is.
    opened = nullcontext() if options.report is None else console.opened_report(options.report)
    with opened as report:
        rows = take_rows(options)
        result = forecast_rows(options, rows)
        page = b"" if report is None else drawn_page(options, rows, result)
        if options.out is not None:
            with console.busy(f"writing {options.out}"):
                column = np.append(result.own, [forecast for _, forecast in result.following])
                write(
                    options.out, rows.table.with_column(options.column, column[: len(rows.table)])
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
    with console.busy("drawing"):
        report = forecasting(
            result.shown, rows.outcomes, memories=result.memories,
            times=rows.table.row_called if rows.times is None else rows.times,
            title=f"{Path(rows.table.source).name}: what was forecast, and what was observed",
            made=how_made(options, rows),
        )  # fmt: skip
        return report.html().encode()


def how_made(options: ForecastOptions, rows: Rows) -> dict[str, str]:
    """Return how the run was made, and the command that does it again."""
    columns = {"outcome": rows.column, "time": options.time, "available": options.available}
    known = f"each used from {options.ahead or 1} rows later on"
    if options.available is not None:
        known += f", once it is known by column {options.available!r}"
    return {
        "command": options.command("forecast"),
        "file": f"{rows.table.source}, {len(rows.outcomes):,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "outcomes are": known,
        "forecaster": options.spec(),
        "seed": str(options.seed),
    }


def take_rows(options: ForecastOptions) -> Rows:
    """Read the file; say what was guessed."""
    if options.available is not None and options.time is None:
        raise ValueError("--available needs --time: an outcome is late for rows before it")
    if options.available is not None and options.state is not None:
        raise ValueError(
            "--state does not go with --available: outcomes that become known after the last row "
            "would be lost"
        )
    for option in ("time", "available"):
        if getattr(options, option) is not None and not options.is_default:
            raise ValueError(
                f"--{option} is for the default forecaster; {options.forecaster} has no use for "
                "times"
            )
    with console.busy(f"reading {options.source}"):
        table = console.read_source(options.source, options.delimiter)
        table, done = prepare(
            table, sort=options.sort, date_format=options.date_format,
            clocks=(options.time, options.available),
        )  # fmt: skip
        if options.out is not None:
            console.check_column(table, options.column)
        name, note = table.find("outcome", options.outcome)
        cells = table.cells(name)
        outcomes = cells.outcomes(positive=options.positive, missing=True)
        known = len(outcomes) - int(np.isnan(outcomes)[::-1].cumprod().sum())
        if options.available is not None:
            known = len(outcomes)
        elif np.isnan(outcomes[:known]).any():
            cells.outcomes(positive=options.positive)  # names the first row that lacks one
        if np.isnan(outcomes).all():
            raise InputError(
                "no outcome is known: every value is missing", source=table.source, column=name
            )
        clock = arrivals = later = None
        if options.time is not None:
            clock = take_clock(table, "time", options.time)
            check_time(table, options.time)
            clock.check_order()
            if (np.diff(clock.ticks[:known]) == 0.0).any():
                # Rows of one time are a batch: none of them can have known another's outcome.
                times = clock.take(np.arange(known))
                arrivals = by_clock(times, times, ~np.isnan(outcomes[:known]))
        if options.available is not None:
            assert clock is not None
            later = take_clock(table, "available", options.available)
            arrivals = by_clock(clock, later, ~np.isnan(outcomes))
    following, outcomes = following_rows(options, table, clock, known), outcomes[:known]
    for line in (table.note, note, *done, unused_score(table, name)):
        console.note(line)
    found = check_columns(
        Columns(outcomes, made=None if clock is None else clock.ticks[:known]), options.allowed
    )
    refuse(found, table.source)
    for finding in found:
        console.note(f"{table.source}: {finding.message}")
    return Rows(table, name, outcomes, clock, arrivals, later, following)


def following_rows(
    options: ForecastOptions, table: Table, clock: Clock | None, known: int
) -> Following:
    """Return the rows of a table from `known` on, or with --next the one after the last."""
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


def take_clock(table: Table, part: str, column: str) -> Clock:
    """Return a column of times."""
    table.find(part, column)
    return table.cells(column).clock()


@dataclass(frozen=True, eq=False)
class Result:
    """What the forecaster that was asked for predicted, and how good that and others were."""

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
        """The predictions of the forecaster that was asked for."""
        return next(iter(self.shown.values()))


def forecast_rows(options: ForecastOptions, rows: Rows) -> Result:
    """Forecast the rows, as asked for and with every baseline."""
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
                memories.append((rounds, forecaster.memory()))
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
        watch(np.concatenate(means), rows, own, used), forecast_following(forecaster, rows),
    )  # fmt: skip


def forecast_following(forecaster: Forecaster, rows: Rows) -> list[tuple[str, float]]:
    """Return the forecasts of the rows after the last outcome; the forecaster stays as it is."""
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
    """Learn the outcomes of the last time: whatever comes next is later."""
    assert isinstance(forecaster, EventForecaster)
    first = forecaster.rounds - len(rows.outcomes)
    for late in arrivals.order[int(arrivals.known[-1]) :].tolist():
        forecaster.update(rows.outcomes[late], id=first + late)


def watch(expected: Floats, rows: Rows, name: str, used: Arrivals | None) -> WatchReport:
    """Return what a monitor finds in expected predictions, where outcomes are known.

    `used` says which outcomes each prediction could use; None for all of the rows before it.
    """
    has_one = np.flatnonzero(~np.isnan(rows.outcomes))
    timeline = Timeline.from_times(rows.times, has_one, len(rows.outcomes))
    made = known = None
    if used is not None:
        made, known = np.arange(len(expected), dtype=np.float64), np.full(len(expected), np.nan)
        # The first row that uses an outcome is predicted after it became known.
        known[used.order] = (
            np.searchsorted(used.known, np.arange(len(used.order)), side="right") - 0.5
        )
        made, known = made[has_one], known[has_one]
    return watch_rounds(
        expected[has_one], rows.outcomes[has_one], None, timeline, Monitor(), name, known, made
    )


def played(forecaster: Forecaster, rows: Rows) -> Iterator[tuple[Floats, Floats]]:
    """Give what the forecaster that was asked for predicts, and what it expects, in parts."""
    if isinstance(forecaster, EventForecaster):
        seconds = None if rows.times is None else rows.times.ticks
        yield from forecast_parts(
            forecaster, rows.outcomes, STEPS, times=seconds, arrivals=rows.arrivals
        )
        return
    for part in np.array_split(rows.outcomes, STEPS):
        yield forecaster._run_with_means(forecaster.run, part)


def show(options: ForecastOptions, rows: Rows, result: Result) -> None:
    """Print what was read, the measures, what they mean, and where the results are."""
    rounds = len(rows.outcomes)
    console.say(
        f"{rows.table.source}: {rounds:,} rounds, column {rows.column!r}, "
        f"mean outcome {np.nanmean(rows.outcomes):.4f}"
    )
    if rows.arrivals is not None and rows.available is not None:
        arrived = int(rows.arrivals.known[-1])
        console.say(
            f"outcomes known by the last row: {arrived:,}; "
            f"missing, or never known: {rounds - len(rows.arrivals.order):,}"
        )
    console.say("")
    console.out.print(console.scorecards(result.cards))
    console.say(f"\n{result.best} is the simple rival with the least log loss, of {result.rivals}.")
    if rows.arrivals is not None or options.ahead not in (None, 1):
        console.say(LATE, fold=True)
    if options.state is not None:
        console.say(AFRESH, fold=True)
    console.show_episodes({options.spec(): result.watched})
    if isinstance(result.forecaster, EventForecaster):
        words = heaviest_in_words(result.forecaster.memory())
        console.say(f"\nThe forecasts draw on {words}.", fold=True)
    if result.following:
        console.say("\nForecasts after the last outcome")
        for name, forecast in result.following[:MOST_FOLLOWING]:
            console.say(f"  {name}: {forecast:.4f}")
        if len(result.following) > MOST_FOLLOWING:
            more = len(result.following) - MOST_FOLLOWING
            console.say(f"  and {more:,} more, all in --out and --json")
    console.say(f"\n{READING}", fold=True)
    if options.out is not None:
        console.say(f"\nPredictions: {options.out}, column {options.column!r}")
    if options.report is not None:
        console.say(f"\nThe report, in a browser: {options.report}")


def in_json(result: Result) -> dict[str, Any]:
    """Return what a monitor found and the measures; an infinite error is null, as JSON has none."""
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
    """Return a line about a column that looks like a model's scores and is not used."""
    facts = [facts_of(rows.cells(name)) for name in rows.columns if name != outcome]
    scores = [each.name for each in likely_scores(facts)]
    if not scores:
        return None
    looks = "looks like scores and is" if len(scores) == 1 else "look like scores and are"
    return (
        f"{rows.source}: {listed(scores)} {looks} not used: the outcomes alone are forecast; to "
        f"recalibrate a model's scores: calibrant recalibrate --score {shlex.quote(scores[0])}"
    )
