"""What every command does: exit cleanly, read rows, check output files, print messages.

A command that fails exits with a code and one line, never with a traceback or half a file.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from calibrant import Episode, __version__
from calibrant.cli import streams
from calibrant.measures import ReliabilityTable, Scorecard
from calibrant.report.style import show_number, styled
from calibrant.report.watch_page import BIAS, HEAD, JUDGED_BY, WatchReport
from calibrant.streams.bundled import CATALOGUE, bundled_table
from calibrant.tables import InputError, read
from calibrant.tables import Table as Rows
from calibrant.tables.atomic import is_same_file
from calibrant.tables.chunks import Chunk, chunks
from calibrant.tables.writing import kind_to_write

out, err = streams.out, streams.err

MEANING = "description"
BAD_INPUT = 2
INTERRUPTED = 130
#: Signals that ask a program to end. Ctrl-C raises Python's own KeyboardInterrupt.
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Probability forecasts that stay calibrated while the world changes."""
    if version:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(BAD_INPUT)


class Ended(BaseException):
    """A signal asked the program to end; not an Exception, so that no handler catches it as one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def clean_end() -> Iterator[None]:
    """Turn a user error into one line and an exit code; exit quietly on a closed pipe.

    A signal that asks the program to end is raised as an error too, so that half-written files are
    removed.
    """

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise Ended(number)

    # A signal that is ignored, as nohup does, stays ignored.
    ours = [each for each in ENDINGS if signal.getsignal(each) is signal.SIG_DFL]
    try:
        try:
            for each in ours:
                signal.signal(each, end)
            yield
            sys.stdout.flush()
        finally:
            for each in ours:
                signal.signal(each, signal.SIG_DFL)
    except BrokenPipeError:
        # The reader is gone. Buffered output must not fail when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        err.print("calibrant: interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except Ended as ended:
        err.print(f"calibrant: ended by {signal.Signals(ended.number).name}")
        raise typer.Exit(128 + ended.number) from None
    except (ValueError, ImportError, OSError, MemoryError) as error:
        what = "not enough memory: " if isinstance(error, MemoryError) else ""
        err.print(f"[bold red]calibrant: error:[/] {what}{escape(str(error))}", soft_wrap=True)
        raise typer.Exit(BAD_INPUT) from None


def read_source(source: str, delimiter: str | None = None) -> Rows:
    """Return the rows of a file, of standard input, or of a bundled stream."""
    path = Path(source)
    if source == "-" or path.suffix or path.exists():
        return read(source, delimiter=delimiter)
    if source in CATALOGUE:
        return bundled_table(source)
    streams = ", ".join(CATALOGUE)
    raise InputError(f"no such file, and not one of the bundled streams {streams}", source=source)


def read_chunks(source: str, delimiter: str | None = None) -> Iterator[Chunk]:
    """Return the rows of a file in chunks; those of a bundled stream as one chunk."""
    if Path(source).exists():
        return chunks(source, delimiter=delimiter)
    return iter([Chunk(read_source(source, delimiter), 0, 1.0)])


def check_outputs(
    source: str,
    out: Path | None,
    report: Path | None = None,
    column: str | None = None,
    state: Path | None = None,
) -> None:
    """Check the output options before any work is done.

    An output file must have a supported suffix and differ from the input and from the other
    outputs. A report needs matplotlib. A column name needs `--out`, and must not be blank.
    """
    if column is not None and out is None:
        raise ValueError("--column needs --out: it names a column of that file")
    if column is not None and not column.strip():
        raise ValueError(f"--column must not be blank, got {column!r}")
    if out is not None:
        kind_to_write(str(out))
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise InputError("the name of a report must end in .html or .htm", source=str(report))
    written = {"--out": out, "--report": report, "--state": state}
    for option, path in written.items():
        if path is not None and source != "-" and is_same_file(path, source):
            raise InputError(
                f"is also the input file; choose another file for {option}", source=str(path)
            )
    given = [(option, path) for option, path in written.items() if path is not None]
    for (one, first), (other, second) in combinations(given, 2):
        if is_same_file(first, second):
            raise InputError(
                f"{one} and {other} are the same file; choose different files",
                source=str(second),
            )
    if report is not None:
        with styled():
            pass  # an error if matplotlib is missing


def check_column(table: Rows, column: str) -> None:
    """Refuse a new column whose name is taken."""
    if column in table.columns:
        raise ValueError(
            f"{table.source} already has a column {column!r}; choose another name with --column"
        )


def refuse_others(given: Mapping[str, Any], taken: Sequence[str], option: str) -> None:
    """Refuse options that cannot be combined with this one, which takes only some."""
    for name, value in given.items():
        if name not in taken and value not in (None, False, "probability"):
            raise ValueError(f"--{name.replace('_', '-')} cannot be combined with {option}")


def note(text: str | None) -> None:
    """Print a message about the work, if there is one, to standard error."""
    if text:
        err.print(f"[dim]{escape(text)}[/]", soft_wrap=True)


def say(text: str, *, fold: bool = False) -> None:
    """Print text unwrapped, so that names in it can be copied; with `fold`, wrap it at words."""
    out.print(text, soft_wrap=not fold, markup=False)


def progress(left: str | None = None) -> Progress:
    """Return a progress bar, which clears itself and is hidden in files and pipes.

    `left` is a template for the time left; without it, the bar estimates that itself.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn() if left is None else TextColumn(left),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    words: Sequence[str] = (MEANING,),
) -> Table:
    """Return a table; its first column and those named in `words` are text.

    Pass names that the user chose as `Text`: in a string, brackets would be markup.
    """
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold")
    for at, name in enumerate(head):
        text = at == 0 or name in words
        shown.add_column(name, justify="left" if text else "right", no_wrap=not text)
    for row in rows:
        shown.add_row(*row)
    return shown


SCORECARD_ROWS = (
    ("Cal1, sum", "cal1"),
    ("Cal2, sum", "cal2"),
    ("KLCal, sum", "klcal"),
    ("ECE, 20 bins", "ece"),
    ("Brier score", "brier"),
    ("log loss", "log_loss"),
)


def scorecards(cards: Mapping[str, Scorecard]) -> Table:
    """Return the measures of several forecasters on the same rounds, side by side."""
    rows = [
        [title, *(show_number(getattr(card, name), fine=True) for card in cards.values())]
        for title, name in SCORECARD_ROWS
    ]
    if all(len(card.windows) > 1 for card in cards.values()):
        worst = (max(window.ece for window in card.windows) for card in cards.values())
        digits = [show_number(value, fine=True) for value in worst]
        rows.append(["worst 1,000 rounds", *digits])
    # The parameters of a forecaster on a line of their own leave room for the names of the rows.
    names = [name.replace(":", ":\n") for name in cards]
    return table("Scorecard (lower is better)", ["", *names], rows)


def reliability(tables: Mapping[str, ReliabilityTable]) -> Table:
    """Return predicted and observed means by bin, side by side, marked where they disagree."""
    first, *others = tables.values()
    interval = [] if others else [f"\n{first.level:.0%} interval"]  # no room for more
    head, rows = ["\nbin"], []
    for name in tables:
        head += [f"{name}\nrounds", "\npredicted", "\nobserved", *interval, ""]
    for at in np.flatnonzero(np.sum([bins.count for bins in tables.values()], axis=0)):
        row = [f"{first.lower[at]:.4g}-{first.upper[at]:.4g}"]
        for bins in tables.values():
            cells = [f"{each[at]:.3f}" for each in (bins.mean_prediction, bins.mean_outcome)]
            if interval:
                cells.append(f"{bins.interval_low[at]:.3f} to {bins.interval_high[at]:.3f}")
            mark = "*" if bins.miscalibrated[at] else ""
            row += [f"{bins.count[at]:,}", *cells, mark] if bins.count[at] else ["-", "", "", ""]
        rows.append(row)
    title = f"Observed against predicted (*: outside its {first.level:.0%} interval)"
    return table(title, head, rows)


def summary_of(found: WatchReport) -> dict[str, Any]:
    """Return what the monitor found, for JSON."""
    return {
        "rounds": len(found.predictions),
        "state": found.monitor.state,
        "evidence": found.monitor.evidence,
        "episodes": [as_object(each) for each in found.episodes],
    }


def as_object(episode: Episode) -> dict[str, Any]:
    """Return an episode for JSON."""
    fields = {**asdict(episode), "direction": episode.direction, "text": str(episode)}
    return {name: value for name, value in fields.items() if value is not None or name == "end"}


def table_of(title: str, found: WatchReport, most: int | None = None) -> Table:
    """Return the episodes as a table, at most the last `most`."""
    rows = found.rows() if most is None else found.rows()[-most:]
    # As `Text`, because brackets in the name of a group are no markup.
    lines = [[Text(cell) for cell in row[:-1]] for row in rows]
    return table(title, HEAD[:-1], lines, ("where",))


def show_episodes(found: dict[str, WatchReport], most: int = 10) -> None:
    """Print what each monitor found, how it treats late outcomes, and the last episodes."""
    out.print("\n[bold]Alarms[/]")
    for name, each in found.items():
        say(f"{name}: {each.sentence}", fold=True)
    if [each for each in found.values() if each.is_late]:
        say(JUDGED_BY, fold=True)
    for name, each in found.items():
        if each.episodes:
            left = len(each.episodes) - most
            title = f"Episodes of {name}" + (
                f", the last {most} of {left + most}" if left > 0 else ""
            )
            out.print("\n", table_of(title, each, most))
    if [each for each in found.values() if each.episodes]:
        say(f"\n{BIAS}", fold=True)
