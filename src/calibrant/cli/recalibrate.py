"""``calibrant recalibrate``: a model's scores in a file, before and after.

A file is recalibrated as a whole or, if it is large or has keys, in chunks, without keeping rows;
both ways end with the same measures, verdict and page. Pipes are answered line by line, in
`calibrant.cli.recalibrate_pipe`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as Grid
from rich.text import Text

from calibrant import Fleet, Recalibrator
from calibrant._checks import check_choice, check_seed
from calibrant._kernels.scores.recalibrate import KINDS
from calibrant.checks import Columns, Finding, Sample, check_columns, refuse
from calibrant.cli import console
from calibrant.cli.arguments import (
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
from calibrant.cli.decisions import (
    ACT_COLUMN,
    PROPENSITY_COLUMN,
    Budget,
    Cost,
    Explore,
    Per,
    Precision,
    Recall,
    decider_of,
)
from calibrant.cli.decisions import OPTIONS as DECISIONS
from calibrant.decide import Decider
from calibrant.decide.rows import DecisionLog, decide_rows
from calibrant.fleet.log import Log as FleetLog
from calibrant.forecasters.memories import heaviest_in_words
from calibrant.recalibrate.frames import ids_in
from calibrant.recalibrate.log import Log
from calibrant.recalibrate.rows import checked, recalibrate_rows, take_rows
from calibrant.report import BeforeAfter, RecalibrationReport, recalibration
from calibrant.report.before_after import CELLS
from calibrant.report.decisions import HEAD as DECISION_HEAD
from calibrant.report.decisions import Decisions
from calibrant.report.recalibration_page import (
    KEY_HEAD,
    MEASURE_ROWS,
    READING,
    REFIT_HEAD,
    KeysWatched,
    group_rows,
    key_rows,
    measure_rows,
    refit_rows,
)
from calibrant.report.watch_page import BIAS
from calibrant.tables import InputError, Scored, Table, write
from calibrant.tables.atomic import locked_file, replacing
from calibrant.tables.chunks import Write, writing
from calibrant.tables.reading import kind_of, standard_input, unpacked_size
from calibrant.tables.scored import as_probabilities, prepare

#: The help shows these options in a separate panel.
LATE = "Late outcomes"
TITLE = "{}: scores before and after recalibration"
#: Files larger than this many bytes, uncompressed, are read in chunks.
LARGE = 2**26
HOW_LARGE = "large file: read in chunks, without keeping rows; --report keeps them, and shows more"
#: How many groups and keys are listed in the terminal, and keys in JSON.
GROUPS_IN_TERMINAL, KEYS_IN_TERMINAL, KEYS_IN_JSON = 20, 10, 1000


@dataclass(frozen=True, kw_only=True)
class RecalibrateOptions(Options):
    """The options of ``calibrant recalibrate``."""

    source: Source
    # None only with --scores or --forecast.
    score: Annotated[str, of_column("Column of the model's scores.")] = None  # type: ignore[assignment]
    scores: Annotated[
        str | None,
        option(
            "COLS",
            "Columns of the scores of several classes, instead of --score: a,b,c, or p_* for "
            "all that start with p_. The outcome is then the name of a class.",
        ),
    ] = None
    forecast: Annotated[
        str | None,
        of_column("Column of forecasts of a number, instead of --score; quantiles are written."),
    ] = None
    levels: Annotated[
        str | None,
        option(
            "LIST", "Levels of the quantiles with --forecast; 0.05,0.25,0.5,0.75,0.95 by default."
        ),
    ] = None
    outcome: OutcomeColumn = None
    positive: Positive = None
    id: Annotated[str | None, of_column("Column that identifies each score; unique.")] = None
    time: Annotated[str | None, of_column("Column of the time of each score, in order.")] = None
    available: Annotated[
        str | None,
        of_column(
            "Column of the times at which outcomes became known, on the same clock as --time: "
            "only later predictions learn from them. Empty for never.",
            panel=LATE,
        ),
    ] = None
    silence: Annotated[
        str | None,
        option(
            "0|1",
            "The outcome of rows without one at their deadline; with --scores, a class.",
            panel=LATE,
        ),
    ] = None
    after: Annotated[
        str | None,
        option(
            "SPAN",
            "The deadline with --silence: a number of rows, or a span of time (30d, 12h, "
            "90min) on the same clock as --time.",
            panel=LATE,
        ),
    ] = None
    due: Annotated[
        str | None, of_column("Column of each row's own deadline, instead of --after.", panel=LATE)
    ] = None
    hold: Annotated[
        str | None,
        option(
            "SPAN",
            "Learn every outcome at this age; use it if one kind of outcome becomes known "
            "sooner than the other.",
            panel=LATE,
        ),
    ] = None
    by: Annotated[str | None, of_column("Column of groups, each recalibrated separately.")] = None
    key: Annotated[
        str | None,
        of_column(
            "Column of keys, up to millions, each with its own offset; the file, CSV or "
            "Parquet, need not fit into memory. With --silence or --hold, every outcome is learned "
            "at its deadline."
        ),
    ] = None
    kind: Annotated[str, option("KIND", "Kind of the scores: probability, logit or margin.")] = (
        "probability"
    )
    delimiter: Delimiter = None
    seed: Seed = 0
    out: OutFile = None
    column: Annotated[
        str | None,
        option("NAME", "Name of the new column in --out; calibrated by default."),
    ] = None
    smooth: Annotated[
        str | None,
        option(
            "NAME",
            "Also write a column of this name: probabilities as fine-grained as the scores, "
            "for ranking rows.",
        ),
    ] = None
    cost: Cost = None
    budget: Budget = None
    per: Per = None
    precision: Precision = None
    recall: Recall = None
    explore: Explore = None
    state: Annotated[
        Path | None,
        option(
            "FILE",
            "Load the recalibrator (with --key, the fleet) from this file if it exists, and "
            "save it there at the end.",
        ),
    ] = None
    strict: Annotated[
        bool,
        typer.Option("--strict", help="In a pipe: stop at the first invalid line."),
    ] = False
    sort: Sort = None
    date_format: DateFormat = None
    scale: Annotated[
        str | None, option("percent", "The scores are percentages, from 0 to 100.")
    ] = None
    missing: Annotated[str | None, option("skip", "Skip rows without a score.")] = None
    trust_order: TrustOrder = False
    allow: Allow = None
    report: ReportFile = None
    json: AsJson = False

    @property
    def new_column(self) -> str:
        """The name of the column with the calibrated probabilities."""
        return self.column or "calibrated"

    def columns(self) -> dict[str, Any]:
        """Return the names of the columns, as arguments of `take_scored`."""
        names = ("score", "outcome", "time", "available", "due", "positive", "scale")
        return {name: getattr(self, name) for name in names}


@taking(RecalibrateOptions)
def recalibrate(**given: Any) -> None:
    """Recalibrate a model's scores in FILE, and measure them before and after.

    Each probability is made before its own outcome is used. With -, rows are read from a pipe, and
    each line is answered at once with its probability. For a FILE, episodes of miscalibration
    are also reported.
    """
    options = RecalibrateOptions(**given)
    if options.score is None and options.forecast is None and options.scores is None:
        raise typer.BadParameter(
            "Missing option '--score' (or '--scores' for classes, '--forecast' for numbers)."
        )
    source, out, state, report = options.source, options.out, options.state, options.report
    with console.clean_end(), nullcontext() if state is None else locked_file(state):
        console.check_outputs(source, out, report, options.column, state)
        if options.forecast is not None or options.levels is not None:
            from calibrant.cli.recalibrate_numbers import recalibrate_given  # noqa: PLC0415

            recalibrate_given(given)
            return
        if options.scores is not None:
            from calibrant.cli import recalibrate_classes  # noqa: PLC0415

            recalibrate_classes.recalibrate_given(given)
            return
        if options.silence is not None:
            if options.silence not in ("0", "1"):
                raise ValueError(f"--silence must be 0 or 1, got {options.silence}")
            given["silence"] = int(options.silence)
        if options.trust_order:
            given["allow"] = f"{options.allow},order" if options.allow else "order"
        options = RecalibrateOptions(**given)
        check_seed(options.seed)
        check_choice("--kind", options.kind, KINDS)
        decides = [name for name in DECISIONS if given[name] is not None]
        decider = decider_of(options) if decides else None
        if source == "-" and not (options.key or out or report or options.json):
            from calibrant.cli.recalibrate_pipe import answer_scores  # noqa: PLC0415

            options, recalibrator = begin(options)
            try:
                answer_scores(options, recalibrator, decider, standard_input())
            finally:
                if state is not None:  # what was learned so far, also before an error
                    recalibrator.save(state)
            return
        if goes_in_chunks(options):
            recalibrate_chunks(options, decider)
        else:
            recalibrate_file(options, decider)


def goes_in_chunks(options: RecalibrateOptions) -> bool:
    """Return whether a FILE is recalibrated in chunks, because it has keys or is large.

    Options that cannot be combined with each other or with a FILE are refused.
    """
    if options.strict:
        raise ValueError("--strict needs a pipe: a FILE with an invalid row is always refused")
    if options.key is not None:
        if options.by is not None:
            raise ValueError(
                "--by cannot be combined with --key: a key is already a group; use one of the two"
            )
        if options.source == "-":
            raise ValueError("--key needs a FILE: CSV or Parquet")
        for name in ("sort", "missing", "date_format"):
            if getattr(options, name) is not None:
                option = name.replace("_", "-")
                raise ValueError(
                    f"--{option} cannot be combined with --key: rows are read in chunks"
                )
    if options.smooth and options.out is None:
        raise ValueError("--smooth needs --out: it names a column of that file")
    if options.available is not None and options.time is None:
        raise ValueError("--available needs --time, the time of each prediction")
    if options.key is not None:
        return True
    path = Path(options.source)
    asks_for_all = (
        options.report, options.id, options.by, options.json, options.sort, options.missing,
        options.date_format,
    )  # fmt: skip
    if any(asks_for_all) or not path.is_file():
        return False
    kind, packing = kind_of(options.source)
    size = path.stat().st_size if packing is None else unpacked_size(path, packing)
    return kind in ("csv", "tsv", "parquet") and size > LARGE


# -- the state -------------------------------------------------------------------------------------


def begin(options: RecalibrateOptions) -> tuple[RecalibrateOptions, Any]:
    """Return the options, and the recalibrator or fleet: the saved one, if there is one.

    The kind of scores and the deadlines are then those of the saved one.
    """
    policy: dict[str, Any] = {name: getattr(options, name) for name in ("silence", "after", "hold")}
    made: type[Fleet] | type[Recalibrator] = Recalibrator if options.key is None else Fleet
    if options.state is None or not options.state.exists():
        if options.key is not None:
            return options, Fleet(options.seed, options.kind, monitor=True, **policy)
        return options, Recalibrator(options.kind, seed=options.seed, **policy)
    saved = made.load(options.state)
    for name, given in policy.items():
        if given is not None and str(given) != str(getattr(saved, name)):
            raise ValueError(
                f"{options.state} was saved with {name}={getattr(saved, name)}, got {given}"
            )
    if options.kind not in ("probability", saved.kind):
        raise ValueError(
            f"{options.state} was saved with kind={saved.kind!r}, got {options.kind!r}"
        )
    keys = f" with {len(saved):,} keys" if isinstance(saved, Fleet) else ""
    console.note(
        f"{options.state}: continuing{keys} after {saved.rounds:,} predictions and "
        f"{saved.learned:,} outcomes; {saved.pending:,} predictions are pending"
    )
    own = {name: getattr(saved, name) for name in ("kind", *policy)}
    return replace(options, **own), saved


# -- a whole file ----------------------------------------------------------------------------------


def columns_of(decider: Decider | None) -> list[str]:
    """Return the columns to which decisions are written."""
    if decider is None:
        return []
    return [ACT_COLUMN, PROPENSITY_COLUMN] if decider.explore else [ACT_COLUMN]


def recalibrate_file(options: RecalibrateOptions, decider: Decider | None) -> None:
    """Recalibrate a whole file; write the outputs that were requested, and print the results."""
    # The report is opened first: if it cannot be written, nothing else is.
    opened = nullcontext() if options.report is None else replacing(options.report)
    with opened as report:
        options, recalibrator = begin(options)
        with console.err.status(Text(f"reading {options.source}")):
            table = console.read_source(options.source, options.delimiter)
            table, done = prepare(
                table, score=options.score, id=options.id, sort=options.sort,
                missing=options.missing, date_format=options.date_format,
                clocks=(options.time, options.available, options.due),
            )  # fmt: skip
            if options.out is not None:
                check_new_columns(options, table, *columns_of(decider))
            rows = take_rows(
                table, score=options.score, outcome=options.outcome, positive=options.positive,
                id=options.id, by=options.by, time=options.time, available=options.available,
                due=options.due, kind=options.kind, scale=options.scale,
            )  # fmt: skip
            ids = ids_in(table, options.id) if options.id and options.state else None
        for line in (table.note, rows.note, *done):
            console.note(line)
        checks = checked(recalibrator, rows, options.allow or (), table.source)
        with console.err.status("recalibrating"):
            has_smooth = options.smooth is not None or decider is not None
            found = recalibrate_rows(recalibrator, rows, ids, smooth=has_smooth)
            decisions = None
            if decider is not None and found.smooth is not None:
                acts, propensities = decide_rows(decider, found.smooth, rows)
                decisions = Decisions(decider, found.smooth, acts)
        unknown = int(np.count_nonzero(np.isnan(found.outcomes)))
        result, page = None, b""
        if unknown < len(found.outcomes):
            never = unknown - found.waiting if options.silence is None else 0
            with console.err.status("measuring"):
                result = recalibration(
                    rows.scores, found.predictions, found.outcomes, by=rows.groups,
                    kind=options.kind, expected=found.expected, known=found.known, never=never,
                    times=table.row_called if rows.clock is None else rows.clock,
                    available=None if recalibrator._book.has_deadlines else rows.available,
                    recalibrator=recalibrator, decisions=decisions,
                    title=TITLE.format(Path(table.source).name), checks=checks,
                    assumed=assumed(options),
                )  # fmt: skip
                if report is not None:
                    size, column = len(rows.scores), rows.outcome_column
                    made = provenance(options, table.source, size, column, never)
                    page = replace(result, made=made).page.html().encode()
        elif not found.waiting or options.report is not None:
            problem = "no outcome is known: every value is missing, or does not count yet"
            raise InputError(problem, source=table.source, column=rows.outcome_column)
        if options.out is not None:
            with console.err.status(Text(f"writing {options.out}")):
                told = None if decisions is None else (decisions.acts, propensities)
                written = with_columns(
                    options, table, found.predictions, found.smooth, decider, told
                )
                write(options.out, written)
        if report is not None:
            report.write(page)
    if options.state is not None:
        recalibrator.save(options.state)
    after = 0
    if rows.clock is not None and rows.available is not None:
        # The last row's own outcome always comes after the last prediction.
        is_after = (rows.available.ticks >= rows.clock.ticks[-1]) & ~np.isnan(rows.outcomes)
        after = int(np.count_nonzero(is_after[:-1]))
    answers = recalibrator._book.late
    if options.json:
        measures = NOTHING if result is None else in_json(result)
        typer.echo(json.dumps({**measures, "waiting": found.waiting, "answers": answers}))
        return
    counts = {
        "outcomes that never arrived": unknown - found.waiting,
        WAITING: found.waiting,
        AFTER: after,
    }
    read = f"{table.source}: {len(found.outcomes):,} rounds"
    show(options, result, read, rows.outcome_column, counts, answers)


def check_new_columns(options: RecalibrateOptions, table: Table, *others: str) -> None:
    """Refuse new columns whose names are taken."""
    console.check_column(table, options.new_column)
    for other in others:
        if other in (*table.columns, options.new_column, options.smooth):
            raise ValueError(
                f"{table.source} already has a column {other!r}, which decisions need; rename it"
            )
    if options.smooth in (*table.columns, options.new_column):
        raise ValueError(
            f"there is already a column {options.smooth!r}; choose another name with --smooth"
        )


def with_columns(
    options: RecalibrateOptions,
    table: Table,
    predictions: Any,
    smooth: Any | None,
    decider: Decider | None,
    decided: tuple[Any, Any] | None,
) -> Table:
    """Return the table with its new columns; `decided` are acts, and their propensities."""
    new = {options.new_column: predictions}
    if options.smooth is not None and smooth is not None:
        new[options.smooth] = smooth
    if decided is not None:
        acts, chances = decided
        new |= zip(columns_of(decider), (acts.astype(np.int64), chances), strict=False)
    return table.with_columns(new)


def assumed(options: RecalibrateOptions) -> str:
    """Return what is assumed of rows with times, but without the times of their outcomes."""
    if options.time is None or options.available is not None:
        return ""
    if options.silence is not None or options.hold is not None:
        return ""
    return (
        "Assumption: each outcome was known before the next row of a later time, since no column "
        "has the time at which it became known (--available)."
    )


def provenance(
    options: RecalibrateOptions, source: str, rows: int, outcome: str | None, never: int
) -> dict[str, str]:
    """Return how the page was made, and the command that repeats the run."""
    columns = {
        "score": options.score, "outcome": outcome, "id": options.id, "time": options.time,
        "available": options.available, "due": options.due, "by": options.by, "key": options.key,
    }  # fmt: skip
    known = "each known to the next row"
    if options.available is not None:
        known = f"known from column {options.available!r} on, used by later predictions only"
    if options.hold is not None:
        known += f", learned {options.hold} after their predictions"
    if options.silence is not None:
        until = "have passed"
        until = f"{options.after} {until}" if options.after else f"column {options.due!r} says"
        known += f"; {options.silence} if none is known when {until}"
    return {
        "command": options.command("recalibrate"),
        "file": f"{source}, {rows:,} rows",
        "columns": ", ".join([f"{part} {name!r}" for part, name in columns.items() if name]),
        "scores are": options.kind,
        "outcomes are": f"{known}; {never:,} never arrived",
        "seed": str(options.seed),
    }


# -- chunk after chunk -----------------------------------------------------------------------------


@dataclass
class Chunked:
    """Counts of rows that are not kept."""

    learner: Recalibrator | Fleet
    rows: int = 0
    missing: int = 0  # rows without an outcome
    after: int = 0  # outcomes that arrived only after the last prediction
    answers: Counter[str] = field(default_factory=Counter)  # to outcomes by id, or too late
    sample: Sample = field(default_factory=Sample)  # of the rows, for checks

    def add(self, rows: Scored) -> None:
        """Count the rows of a chunk."""
        self.rows += len(rows.scores)
        self.missing += int(np.count_nonzero(np.isnan(rows.outcomes)))
        clock, learner = rows.clock, self.learner
        self.sample.extend(
            Columns(
                rows.outcomes, rows.scores, None if clock is None else clock.ticks,
                None if rows.available is None else rows.available.ticks, kind=learner.kind,
                is_time=clock is not None and clock.sort not in (None, "numbers"),
                has_silence=learner.silence is not None, has_hold=learner.hold is not None,
            )
        )  # fmt: skip


def recalibrate_chunks(options: RecalibrateOptions, decider: Decider | None) -> None:
    """Recalibrate a file that need not fit into memory, with or without keys."""
    opened = nullcontext() if options.report is None else replacing(options.report)
    with opened as report:
        options, learner = begin(options)
        of_log = {"smooth": options.smooth is not None or decider is not None, **options.columns()}
        if isinstance(learner, Fleet):
            log: Log | FleetLog = FleetLog(learner, key=str(options.key), id=options.id, **of_log)
        else:
            console.note(f"{options.source}: {HOW_LARGE}")
            log = Log(learner, **of_log)
        acted = None if decider is None else DecisionLog(decider)
        both = BeforeAfter(has_raw=learner.kind != "margin", cells=CELLS)
        counted = Chunked(learner)
        with nullcontext() if options.out is None else writing(options.out) as write_chunk:
            play_chunks(options, log, both, counted, write_chunk, acted)
            may_wait = (options.id or options.silence) is not None and options.report is None
            if both.rounds == 0 and not may_wait:
                problem = "no outcome is known: every value is missing"
                raise InputError(problem, source=options.source, column=log.outcome)
            checks = check_columns(counted.sample.columns, options.allow or ())
            refuse(checks, options.source)
            result = measured_chunks(options, log, both, counted, learner, checks, acted)
            # Drawn before the rows appear: a page that fails leaves no file.
            page = b"" if report is None or result is None else result.page.html().encode()
        if report is not None:
            report.write(page)
    if options.state is not None:
        learner.save(options.state)
    if options.json:
        measures = NOTHING if result is None else in_json(result)
        extra = {
            "rows": counted.rows, "outcomes": both.rounds, "arrived_late": counted.after,
            "expired": learner.expired, "waiting": learner.pending, "answers": counted.answers,
        }  # fmt: skip
        typer.echo(json.dumps({**measures, **extra, "keys": len(learner)}))
        return
    waiting = "predictions pending" + (" until their deadlines" if options.hold else "")
    is_waiting = options.id is not None or options.hold is not None
    if options.silence is not None:
        waiting, is_waiting = WAITING, True
    counts = {
        waiting: learner.pending if is_waiting else 0,
        "rows without an outcome": 0 if options.id or options.silence is not None
        else counted.missing,
        AFTER: counted.after,
        "predictions expired because too many were pending": learner.expired,
    }  # fmt: skip
    read = f"{options.source}: {counted.rows:,} rounds"
    if isinstance(learner, Fleet):
        read += f", {len(learner):,} keys in {options.key!r}"
    show(options, result, read, log.outcome, counts, counted.answers)
    if isinstance(learner, Fleet):
        console.say(f"\nmemory of the fleet: {learner.nbytes / 1e6:,.1f} MB")


def play_chunks(
    options: RecalibrateOptions,
    log: Log | FleetLog,
    both: BeforeAfter,
    counted: Chunked,
    write: Write | None,
    acted: DecisionLog | None,
) -> None:
    """Play the rows of a file in chunks, and write them if requested."""
    decider = None if acted is None else acted.decider
    with console.progress() as progress:
        task = progress.add_task(f"recalibrating {options.source}", total=1.0)
        for chunk in console.read_chunks(options.source, options.delimiter):
            if options.out is not None:
                check_new_columns(options, chunk.table, *columns_of(decider))
            try:
                played = log.play(chunk.table)
            except InputError as error:
                raise chunk.placed(error) from None
            if chunk.rows_before == 0:
                console.note(chunk.table.note)
                console.note(played.rows.note)
            told = None
            if acted is not None and played.smooth is not None:
                told = acted.play(played.smooth, played.rows)
            if write is not None:
                write(
                    with_columns(
                        options, chunk.table, played.predictions, played.smooth, decider, told
                    )
                )
            counted.add(played.rows)
            both.extend(*played.judged)
            progress.update(task, completed=chunk.share)
    counted.after, still_open = log.finish()
    both.extend(*still_open)
    counted.answers = log.answers


def measured_chunks(
    options: RecalibrateOptions,
    log: Log | FleetLog,
    both: BeforeAfter,
    counted: Chunked,
    learner: Recalibrator | Fleet,
    checks: list[Finding],
    acted: DecisionLog | None,
) -> RecalibrationReport | None:
    """Return the report, None while no probability has an outcome that counts."""
    if both.rounds == 0:
        return None
    decisions = None if acted is None else decisions_of(acted, learner.kind)
    keys = None
    if isinstance(learner, Fleet):
        monitors = {} if learner.monitors is None else {
            name: getattr(learner.monitors, name) for name in both.columns
        }  # fmt: skip
        keys = KeysWatched(monitors, len(learner))
    waits_for_ids = options.id is not None or options.silence is not None
    never = 0 if waits_for_ids else counted.missing
    return RecalibrationReport.from_measures(
        both, kind=learner.kind, never=never, keys=keys,
        title=TITLE.format(Path(options.source).name),
        made=provenance(options, options.source, counted.rows, log.outcome, never),
        checks=checks, assumed=assumed(options),
        recalibrator=learner if isinstance(learner, Recalibrator) else None, decisions=decisions,
    )  # fmt: skip


def decisions_of(acted: DecisionLog, kind: str) -> Decisions:
    """Return what was decided of the rows whose outcomes count."""
    probabilities, acts, scores, outcomes = acted.finish()
    rows = np.flatnonzero(~np.isnan(outcomes))
    raw = as_probabilities(scores[rows], kind)
    return Decisions(acted.decider, probabilities, acts).of_rows(rows, outcomes[rows], raw)


# -- what is shown ---------------------------------------------------------------------------------

#: The measures in JSON if there are no rounds.
NOTHING = {"rounds": 0, "mean_outcome": None}
AFTER = "outcomes that arrived only after the last prediction"
WAITING = "predictions before their deadline, not scored"


def in_json(report: RecalibrationReport) -> dict[str, Any]:
    """Return the measures, what the monitors found, verdict and findings for JSON."""
    both = report.measures
    columns: dict[str, Any] = {
        # JSON has no infinity: an infinite error is null.
        name: {each: finite(getattr(column, each)) for _, each, _ in MEASURE_ROWS}
        for name, column in both.columns.items()
    }
    for name, watched in report.watched.items():
        columns[name] |= console.summary_of(watched)
    for name, found in report.keys.monitors.items() if report.keys else ():
        keys = found.miscalibrated_keys()
        columns[name] |= {
            "state": found.state,
            "evidence": found.evidence,
            "episodes": [console.as_object(episode) for episode in found.episodes],
            "miscalibrated_keys_count": len(keys),
            "miscalibrated_keys": [
                {**asdict(key), "direction": key.direction, "text": str(key)}
                for key in keys[:KEYS_IN_JSON]
            ],
        }
    acted = {} if report.decisions is None else {"decisions": report.decisions.in_json()}
    return {
        "rounds": both.rounds, "mean_outcome": both.calibrated.mean_outcome, **columns, **acted,
        "verdict": report.verdict.word, "findings": report.findings,
        "refits": {
            name: {each: finite(getattr(refit.card, each)) for each in ("brier", "log_loss", "ece")}
            for name, refit in report.refits.items()
        },
        "refits_in_words": report.refits_in_words,
        "checks": [each.as_object() for each in report.checks],
    }  # fmt: skip


def finite(value: float) -> float | None:
    """Return a number, None if it is infinite."""
    return value if math.isfinite(value) else None


def show(
    options: RecalibrateOptions,
    report: RecalibrationReport | None,
    read: str,
    outcome: str | None,
    counts: Mapping[str, int],
    answers: Mapping[str, int],
) -> None:
    """Print what was read, measures, groups or keys, findings, and the files that were written.

    `counts` are of outcomes that are missing or late, `answers` of outcomes by id.
    """
    mean = "" if report is None else f" (mean {report.measures.calibrated.mean_outcome:.4f})"
    console.say(f"{read}, scores {options.score!r}, outcomes {outcome!r}{mean}")
    for what, count in counts.items():
        if count:
            console.say(f"{what}: {count:,}")
    if answers:
        listed = ", ".join(f"{count:,} {answer}" for answer, count in sorted(answers.items()))
        # Only a fleet takes outcomes by id from a file.
        what = "by id" if options.id and options.key else "that arrived after their deadline"
        console.say(f"outcomes {what}: {listed}")
    if report is not None:
        both = report.measures
        head = ["", *both.columns, console.MEANING]
        measures = console.table("Before and after (lower is better)", head, measure_rows(both))
        console.out.print("", measures, sep="\n")
        tables = {name: column.reliability(10) for name, column in both.columns.items()}
        console.out.print("\n", console.reliability(tables))
        if both.has_groups:
            head, groups = group_rows(both, GROUPS_IN_TERMINAL)
            # As `Text`, because brackets in the name of a group are no markup.
            shown: list[list[str | Text]] = [[Text(group), *values] for group, *values in groups]
            console.out.print("\n", console.table("By group", head, shown))
            if len(both.groups) > len(groups):
                console.say(f"and {len(both.groups) - len(groups):,} smaller groups")
        if report.watched:
            console.show_episodes(report.watched)
        if report.keys is not None:
            show_keys(report.keys)
        if report.decisions is not None:
            acted = console.table("Decisions", DECISION_HEAD, report.decisions.rows())
            console.out.print("\n", acted)
        # Refits take longer than everything else, so they are made only for a report.
        if options.report is not None and report.refits:
            beside = "Compared with plain refits (lower is better)"
            console.out.print("\n", console.table(beside, REFIT_HEAD, refit_rows(report)))
            console.say(f"\n{report.refits_in_words}", fold=True)
        console.out.print(f"\n[bold]Verdict: {report.verdict.word}[/]")
        points = Grid.grid(padding=(0, 1))
        points.add_column(width=1)
        points.add_column()
        for finding in report.findings:
            points.add_row("-", Text(finding))
        console.out.print(points)
        if isinstance(report.recalibrator, Recalibrator):
            weights = heaviest_in_words(report.recalibrator.weights())
            console.say(f"\nThe probabilities are now based on {weights}.", fold=True)
        console.say(f"\n{READING}", fold=True)
    if options.out is None and options.report is None:
        console.say(
            "\nTo save the result: --out FILE.csv; for a page with figures: --report FILE.html"
        )
    else:
        console.say("\nWritten")
    if options.report is not None:
        console.say(f"  {options.report}: the report, a page for a browser")
    if options.out is not None:
        console.say(
            f"  {options.out}: all rows, with their probabilities in column {options.new_column!r}"
        )
    if options.state is not None:
        console.say(f"  {options.state}: the state, for the next run")


def show_keys(keys: KeysWatched) -> None:
    """Print which keys are miscalibrated, and the episodes over all keys."""
    console.out.print("\n[bold]Miscalibrated keys[/]")
    if not keys.monitors:
        console.say("not monitored: the fleet in --state was created without a monitor")
    for name in keys.monitors:
        console.say(f"{name}: {keys.sentence(name)}", fold=True)
    for name, found in keys.monitors.items():
        listed = found.miscalibrated_keys()
        if listed:
            many = f", {KEYS_IN_TERMINAL} of {len(listed):,}"
            more = many if len(listed) > KEYS_IN_TERMINAL else ""
            # As `Text`, because brackets in a key are no markup.
            rows = [[Text(cell) for cell in row] for row in key_rows(listed[:KEYS_IN_TERMINAL])]
            console.out.print("\n", console.table(f"Keys in {name}{more}", KEY_HEAD, rows))
            console.say(f"\n{BIAS}", fold=True)
    for name, found in keys.monitors.items():
        for episode in found.episodes[-3:]:
            console.say(f"over all keys, {name}: {episode}", fold=True)
