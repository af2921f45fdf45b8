"""``calibrant compare``: forecasters on streams, or methods on a file, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.progress import Progress as Bar
from rich.text import Text

from calibrant._checks import check_choice
from calibrant.cli import console
from calibrant.cli.arguments import (
    Allow,
    AsJson,
    Delimiter,
    Positive,
    Sort,
    TrustOrder,
    of_column,
    option,
    taking,
)
from calibrant.experiments import (
    DEFAULT_MEASURES,
    ENGINES,
    TASK_MEASURES,
    MeanAndSpread,
    Progress,
    SweepError,
    parquet,
    plan,
    read_results,
    sweep,
)
from calibrant.experiments.groups import FORECASTER_GROUPS, STREAM_GROUPS, expand, split
from calibrant.experiments.sweeps import count_finished
from calibrant.experiments.winners import in_sentences
from calibrant.report.style import show_number
from calibrant.streams.named import length

SPECS = "Comma-separated, or repeat the option."
FAILED = 1
MOST_LINES = 30
MOST_ROUNDS = 10**12
#: The help shows the options for a FILE in a separate panel.
OWN = "Your own rows"
EngineOption = Annotated[str, option("NAME", f"Where to run: {' or '.join(ENGINES)}.")]
WorkersOption = Annotated[int | None, option("N", "Tasks in parallel; one per core by default.")]


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of ``calibrant compare``."""

    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A file with scores (--score) or forecasts of a number (--forecast), on which "
            "calibrant is compared with other methods. Without a FILE, forecasters are compared "
            "on streams.",
        ),
    ] = None
    out: Annotated[
        Path | None, option("FOLDER", "Folder for the results; a rerun continues there.")
    ] = None
    forecasters: Annotated[
        list[str], option("SPEC", f"zoom, foster-hart:gaps=46, all, paper, rivals ... {SPECS}")
    ] = field(default_factory=lambda: ["all"])
    streams: Annotated[
        list[str],
        option(
            "SPEC",
            "drift, iid:mean=0.1, greedy:norm=l2, nycflights, file:PATH#COLUMN, all, "
            f"families, adversaries, real ... {SPECS}",
        ),
    ] = field(default_factory=lambda: ["all"])
    horizons: Annotated[list[str], option("N", "Numbers of rounds; comma-separated.")] = field(
        default_factory=lambda: ["1000,3000,10000"]
    )
    seeds: Annotated[int, option("N", "Number of seeds: 0, 1, ...")] = 20
    measures: Annotated[
        list[str], option("NAME", f"What to measure: {', '.join(TASK_MEASURES)}.")
    ] = field(default_factory=lambda: [*DEFAULT_MEASURES])
    show: Annotated[str | None, option("NAME", "The measure in the table at the end.")] = None
    engine: EngineOption = "local"
    workers: WorkersOption = None
    score: Annotated[str | None, of_column("Column of the model's scores.", panel=OWN)] = None
    forecast: Annotated[
        str | None, of_column("Column of forecasts of a number, instead of --score.", panel=OWN)
    ] = None
    outcome: Annotated[
        str | None,
        of_column("Column of the outcomes; guessed with --score if not given.", panel=OWN),
    ] = None
    positive: Positive = None
    time: Annotated[str | None, of_column("Column of the time of each prediction.", panel=OWN)] = (
        None
    )
    available: Annotated[
        str | None, of_column("Column of the times at which outcomes became known.", panel=OWN)
    ] = None
    sort: Sort = None
    delimiter: Delimiter = None
    trust_order: TrustOrder = False
    allow: Allow = None
    json: AsJson = False


@taking(CompareOptions)
def compare(**given: Any) -> None:
    """Compare calibrant with other methods on the rows of FILE, or forecasters on streams.

    Without a FILE, every forecaster runs on every stream, for every horizon and every seed. The
    results do not depend on the number of workers. After Ctrl-C or a crash, the same command
    continues where it stopped.
    """
    options = CompareOptions(**given)
    out = options.out
    with console.clean_end():
        if options.source is not None:
            from calibrant.cli.compare_file import compare_given  # noqa: PLC0415

            if out is not None:
                raise ValueError("--out needs streams, not a FILE; use --json for the figures")
            if options.trust_order:
                given["allow"] = f"{options.allow},order" if options.allow else "order"
            compare_given(given)
            return
        for name in ("score", "forecast", "outcome", "time", "available", "sort", "json"):
            if given[name]:
                raise ValueError(f"--{name} needs a FILE")
        if out is None:
            raise typer.BadParameter("Missing option '--out' (or a FILE with --score).")
        names = [name.strip() for each in options.measures for name in each.split(",")]
        chosen = list(dict.fromkeys(names))
        for name in chosen:
            check_choice("--measures", name, TASK_MEASURES)
        shown = options.show or ("cal2" if "cal2" in chosen else chosen[0])
        check_choice("--show", shown, chosen)
        forecasters = expand(split(options.forecasters), FORECASTER_GROUPS)
        streams = expand(split(options.streams), STREAM_GROUPS)
        rounds = [whole(text) for each in options.horizons for text in each.split(",")]
        tasks = plan(forecasters, streams, rounds, options.seeds)
        say_what_is_short(streams, max(rounds))
        with watched(out, "comparing") as (_, advance):
            sweep(
                tasks, out, measures=chosen, engine=options.engine, workers=options.workers,
                advance=advance,
            )  # fmt: skip
        console.out.print(summary(out, shown, options.seeds))
        say_who_wins(out)
        console.say(f"\nResults: {out / parquet.NAME}")
        console.say(f"Look at: calibrant report {out}")


def whole(text: str) -> int:
    """Return a number of rounds, which may be written as 1e5 or 10_000."""
    try:
        value = float(text)
    except ValueError:
        value = 0.5
    if not value.is_integer() or not 1 <= value <= MOST_ROUNDS:
        raise ValueError(f"--horizons must be integers in [1, {MOST_ROUNDS:,}], got {text!r}")
    return int(value)


def say_what_is_short(streams: list[str], longest: int) -> None:
    """Print which real streams have fewer rounds than requested."""
    short = [
        f"{name} ({most:,})" for name in streams if (most := length(name) or longest) < longest
    ]
    if short:
        console.note(f"shorter than {longest:,} rounds, so used as a whole: {', '.join(short)}")


def say_who_wins(folder: Path) -> None:
    """Print where each forecaster is best, in sharpness and in calibration."""
    sentences = in_sentences(read_results(folder))
    if sentences:
        console.say("\nBest forecasters at the largest number of rounds of each stream:")
        for sentence in sentences:
            console.say(f"- {sentence}")


@contextmanager
def watched(folder: Path, doing: str) -> Iterator[tuple[Bar, Callable[[Progress], None]]]:
    """Show the progress of a sweep, which tasks failed or, after Ctrl-C, what was saved."""
    seen = Progress(0, 0, 0.0, None)
    said = -1  # tenths of the work, where lines are printed
    with console.progress(left="{task.fields[left]}") as bar:
        task = bar.add_task(doing, total=1.0, left="")

        def advance(progress: Progress) -> None:
            nonlocal seen, said
            seen = progress
            text = f"{progress.tasks:,} of {progress.of:,} tasks{left(progress.seconds_left)}"
            bar.update(task, completed=progress.work, left=text)
            if not console.err.is_terminal and int(10 * progress.work) > said:
                said = int(10 * progress.work)
                console.note(text)

        try:
            yield bar, advance
        except KeyboardInterrupt:
            bar.stop()
            if seen.of:
                console.note(
                    f"{count_finished(folder):,} of {seen.of:,} tasks are saved in {folder}; "
                    "the same command continues from there"
                )
            raise
        except SweepError as error:
            bar.stop()
            console.err.print(f"calibrant: error: {error}", markup=False, soft_wrap=True)
            raise typer.Exit(FAILED) from None


def left(seconds: float | None) -> str:
    """Return the time left as text, empty if it is unknown or under half a second."""
    if seconds is None or seconds < 0.5:
        return ""
    if seconds < 90:
        return f", about {max(1, round(seconds))} s left"
    return f", about {round(seconds / 60)} min left"


def summary(folder: Path, measure: str, seeds: int) -> Group:
    """Return a title and a table of a measure by stream and forecaster.

    If the terminal is too narrow, each row names its best forecaster, and only the forecasters that
    are best over all streams get a column, as many as fit.
    """
    results = read_results(folder)
    rows = results.summary(measure)
    of = "one seed" if seeds == 1 else f"mean and spread over {seeds} seeds"
    title = f"{measure}, {of}; * marks the best in each row"
    if len(rows) > MOST_LINES:
        rows = {longest: rows[longest] for longest in results.longest(measure).items()}
        title += "\n(only the largest number of rounds of each stream; the results file has all)"
    names = list(next(iter(rows.values())))
    first = ["stream, rounds", *(f"{stream}, {rounds:,}" for stream, rounds in rows)]
    columns = [[name, *(in_words(row[name]) for row in rows.values())] for name in names]
    if width([first, *columns]) > console.out.width:
        shown = [["best", *map(best_of, rows.values())]]
        while width([first, *shown, columns[0]]) <= console.out.width:
            shown.append(columns.pop(0))
        columns = shown
        title += f"\n({len(shown) - 1} of {len(names)} forecasters; a wider terminal shows more)"
    head, *lines = zip(first, *columns, strict=True)
    # As text, since brackets in a file's name are not markup.
    table = console.table("", head, [(Text(stream), *rest) for stream, *rest in lines])
    # Above the table, not as its title, which would be folded to its width.
    return Group(Text(title, style="bold"), table)


def best_of(row: dict[str, MeanAndSpread]) -> str:
    """Return the best forecaster of a row, and how many others are as good."""
    first, *others = (name for name, summary in row.items() if summary.best)
    return f"{first} +{len(others)}" if others else first


def width(columns: list[list[str]]) -> int:
    """Return how wide a table is, with two spaces between its columns."""
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def in_words(summary: MeanAndSpread) -> str:
    """Return mean and spread, with a mark if it is the best."""
    spread = "" if math.isnan(summary.spread) else f" ± {show_number(summary.spread)}"
    return f"{show_number(summary.mean)}{spread}{'*' if summary.best else ' '}"
