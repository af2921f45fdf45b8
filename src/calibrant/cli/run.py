"""``calibrant run``: its options, and who does the work.

Scores are recalibrated, whole files in `calibrant.cli.recalibrate_file`, large ones and those with
keys chunk by chunk in `calibrant.cli.recalibrate_large` and `calibrant.cli.recalibrate_keyed`, and
pipes line by line in `calibrant.cli.recalibrate_pipe`; forecasts of numbers in
`calibrant.cli.recalibrate_numbers`. Without scores, outcomes are forecast
(`calibrant.cli.forecast`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant._checks import check_choice, check_integer, check_seed
from calibrant._kernels.scores.recalibrate import KINDS
from calibrant.cli import console
from calibrant.cli.arguments import (
    FORECASTER,
    AsJson,
    Delimiter,
    ForecastJob,
    Job,
    OutcomeColumn,
    Positive,
    Seed,
    Source,
)
from calibrant.cli.forecast import answer_lines, forecast_file
from calibrant.cli.recalibrate_file import recalibrate_file
from calibrant.cli.recalibrate_keyed import recalibrate_keyed
from calibrant.cli.recalibrate_large import is_large, recalibrate_large
from calibrant.cli.recalibrate_numbers import recalibrate_number_file
from calibrant.cli.recalibrate_pipe import answer_scores
from calibrant.forecasters.event_forecaster import MOST_AHEAD
from calibrant.forecasters.named import parameters
from calibrant.tables.reading import standard_input

DEFAULT = "event-forecaster"

#: The help has these options in boxes of their own.
LATE, WITHOUT = "Outcomes that come late", "Forecasts, without --score"


def run(
    source: Source,
    score: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of a model's scores, to be recalibrated."),
    ] = None,
    forecast: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of a model's forecasts of a number, in place of --score: quantiles are "
            "written, a column each.",
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Levels of the quantiles with --forecast: 0.05,0.25,0.5,0.75,0.95."
        ),
    ] = None,
    outcome: OutcomeColumn = None,
    positive: Positive = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COL", help="Column that names each score; none comes twice."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of when each score was given, in order; without --score, of when each "
            "outcome happens: its hour, weekday and month then count, and gaps do.",
        ),
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=LATE,
            metavar="COL",
            help="Column of when each outcome became known, by the clock of --time: only "
            "probabilities given later learn from it. Empty for never.",
        ),
    ] = None,
    silence: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=LATE,
            metavar="0|1",
            help="The outcome that is not announced: a row without one by its deadline had this.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=LATE,
            metavar="SPAN",
            help="The deadline with --silence: so many rows later, or so much time (30d, 12h, "
            "90min) by the clock of --time.",
        ),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=LATE,
            metavar="COL",
            help="Column of each row's own deadline, instead of --after.",
        ),
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=LATE,
            metavar="SPAN",
            help="Learn every outcome at this age: for outcomes of which one kind comes sooner.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of groups, each recalibrated for itself."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of keys, up to millions, each with an offset of its own; the file, CSV or "
            "Parquet, need not fit into memory. With --silence or --hold every outcome is learned "
            "at its deadline, and none before.",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(metavar="KIND", help="What the scores are: probability, logit or margin."),
    ] = "probability",
    delimiter: Delimiter = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the rows here, with their probabilities."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to call the column of probabilities: calibrated, or prediction without "
            "--score.",
            show_default=False,
        ),
    ] = None,
    smooth: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a second column of this name: probabilities as fine as the scores, to rank "
            "rows by.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Go on with the recalibrator saved here (with --key, the fleet), if there is one, "
            "and save it at the end.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="In a pipe: stop at the first line that cannot be used."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a report with figures here."),
    ] = None,
    forecaster: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WITHOUT,
            metavar="SPEC",
            help=f"The forecaster ({DEFAULT} if not given): {FORECASTER}",
        ),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=WITHOUT,
            metavar="N",
            help="Forecast so many rows ahead; in a pipe, answer with the forecast of the line "
            "that many later: 1 for the next one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recalibrate a model's scores in FILE, or forecast its outcomes where there are no scores.

    Each probability is made before its own outcome is used; at the end stands how good they were.
    With - the rows come from a pipe: each line is answered at once with its probability. Of a
    FILE, the episodes in which probabilities were off are shown too.
    """
    with console.clean_end():
        check_seed(seed)
        if forecast is not None or levels is not None:
            if forecast is None or outcome is None:
                raise ValueError("forecasts of a number need --forecast and --outcome")
            others = (score, positive, key, silence, after, due, forecaster, ahead, smooth)
            if any(each is not None for each in others) or source == "-":
                raise ValueError(
                    "with --forecast a FILE goes with --outcome, --time, --available, --by, "
                    "--hold, --levels, --out, --state, --report and --json"
                )
            console.check_outputs(source, out, report)
            recalibrate_number_file(
                source, forecast=forecast, outcome=outcome, time=time, available=available, by=by,
                hold=hold, levels=levels, delimiter=delimiter, out=out, state=state, report=report,
                as_json=as_json,
            )  # fmt: skip
            return
        check_column_name(column, out)
        check_stray(
            score,
            forecaster=forecaster,
            ahead=ahead,
            id=id_column,
            time=time,
            available=available,
            by=by,
            key=key,
            report=report,
            kind=kind != "probability",
            smooth=smooth,
            state=state,
            strict=strict,
            silence=silence,
            after=after,
            due=due,
            hold=hold,
        )
        is_pipe = source == "-" and out is None and report is None and not as_json
        if score is not None:
            check_choice("--kind", kind, KINDS)
            if not is_pipe and strict:
                raise ValueError("--strict is for a pipe: a FILE with a bad row is always refused")
            if not is_pipe and smooth and out is None:
                raise ValueError("--smooth names a column of --out, and none is asked for")
            if available is not None and time is None:
                raise ValueError(
                    "--available needs --time: an outcome is late for predictions made before it"
                )
            job = Job(
                source, score, outcome, id_column, time, available, by, kind, seed,
                column or "calibrated", out, report, positive, delimiter, state, smooth, strict,
                due, silence, after, hold, as_json, key,
            )  # fmt: skip
            if key is not None:
                recalibrate_keyed(job)
            elif is_pipe:
                answer_scores(job, standard_input())
            elif is_large(job):
                recalibrate_large(job)
            else:
                recalibrate_file(job)
            return
        job_ahead = ForecastJob(
            source, outcome, positive, time, available, ahead,
            DEFAULT if forecaster is None else forecaster, seed,
            column or "prediction", out, report, delimiter, as_json,
        )  # fmt: skip
        parameters(job_ahead.forecaster)  # refuses what is no forecaster before anything is read
        check_ahead(job_ahead)
        if not is_pipe:
            forecast_file(job_ahead)
            return
        for option, given in (("time", time), ("available", available)):
            if given is not None:
                raise ValueError(f"--{option} needs --score in a pipe: lines hold outcomes alone")
        answer_lines(job_ahead)


def check_ahead(job: ForecastJob) -> None:
    """Refuse a number of rows ahead that is none, or that the forecaster knows nothing of."""
    if job.ahead is None:
        return
    check_integer("--ahead", job.ahead, 1, MOST_AHEAD)
    if job.ahead > 1 and not job.is_default:
        raise ValueError(
            f"--ahead {job.ahead} is for the default forecaster; {job.forecaster} forecasts the "
            "next row alone"
        )


def check_column_name(column: str | None, out: Path | None) -> None:
    """Refuse a name for the new column that is none, or that nothing is written under."""
    if column is not None and out is None:
        raise ValueError("--column names a column of --out, and none is asked for")
    if column is not None and not column.strip():
        raise ValueError(f"--column must be a name, got {column!r}")


def check_stray(score: str | None, **given: object) -> None:
    """Refuse options of the other job: with scores those of a forecast, without them the rest."""
    of_forecasts = ("forecaster", "ahead")
    for name, value in given.items():
        if value is None or value is False or name in ("time", "available", "report"):
            continue
        if (name in of_forecasts) == (score is None):
            continue
        if score is None:
            raise ValueError(
                f"--{name} needs --score: without scores there is nothing to recalibrate"
            )
        raise ValueError(f"--{name} belongs to forecasts without --score")
