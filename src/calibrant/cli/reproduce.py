"""``calibrant reproduce``: the paper's Table 1, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from calibrant import experiments
from calibrant.cli import console
from calibrant.cli.arguments import option, taking
from calibrant.cli.compare import FAILED, EngineOption, WorkersOption, watched, width
from calibrant.experiments import Claim, findings
from calibrant.experiments.claims import FAILS, NAME, NOT_COUNTED, NOT_VISIBLE, PASSES
from calibrant.tables.atomic import replacing

COLOURS = {PASSES: "green", FAILS: "bold red", NOT_VISIBLE: "yellow", NOT_COUNTED: "dim"}
HEAD = (
    "error", "forecaster", "world", "claimed", "fitted", "verdict", "95%", "plain", "best null",
    "its plain", "level", "/ lower bound", "ns a round", "its growth", "claimed", "theorem",
)  # fmt: skip
ESSENTIAL = 1 + HEAD.index("verdict")  # columns that a narrow terminal shows too


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """The options of ``calibrant reproduce``."""

    out: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Folder for the results; a rerun continues there. By default table1, "
            "table1-quick or table1-full.",
        ),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="T up to 10^5, 10 seeds: a few minutes.")
    ] = False
    full: Annotated[bool, typer.Option("--full", help="T up to 10^7, 40 seeds: for a cluster.")] = (
        False
    )
    engine: EngineOption = "local"
    workers: WorkersOption = None
    markdown: Annotated[Path | None, option("FILE", "Also write the table here, as Markdown.")] = (
        None
    )


@taking(ReproduceOptions)
def reproduce(**given: Any) -> None:
    """Measure the paper's Table 1: how each error grows in T, C and K, and what is claimed.

    A row passes if the interval of the fitted exponent ends at most 0.08 above the claimed one, and
    the forecaster beats its nulls, fixed grids of several sizes, in level or in slope.
    The exit code is 1 if a row fails. After Ctrl-C or a crash, the same command continues where it
    stopped.
    """
    options = ReproduceOptions(**given)
    with console.clean_end():
        if options.quick and options.full:
            raise ValueError("--quick and --full cannot both be given")
        size = "quick" if options.quick else "full" if options.full else "default"
        folder = options.out or Path("table1" if size == "default" else f"table1-{size}")
        with watched(folder, "measuring") as (bar, advance):
            timing = bar.add_task("timing", total=None, visible=False, left="")
            table = experiments.reproduce(
                folder, size=size, engine=options.engine, workers=options.workers, advance=advance,
                timed=lambda done, of: bar.update(timing, completed=done, total=of, visible=True),
            )  # fmt: skip
        console.out.print(shown(table))
        for text in findings.reasons(table):
            console.say(f"\n{text}", fold=True)
        console.say(f"\n{findings.verdicts(table)}", fold=True)
        if size == "quick":
            console.say(
                "This is the quick size: T goes up to 10^5, and the intervals are wide. Without "
                "--quick, T goes up to 10^6.",
                fold=True,
            )
        console.say(f"Results: {folder / NAME}")
        console.say(f"Look at: calibrant report {folder}")
        if options.markdown is not None:
            with replacing(options.markdown) as file:
                file.write(as_markdown(table, size).encode())
        if any(row.verdict == FAILS for row in table):
            raise typer.Exit(FAILED)


def cells(row: Claim) -> list[str]:
    """Return the cells of a row, in the order of `HEAD`."""
    ns, bound = row.ns_per_round, row.over_lower_bound
    return [
        row.error,
        findings.name_forecaster(row),
        row.situation.replace("C of order T", "C ~ T"),
        claimed(row),
        f"{row.fitted:.2f}",
        row.verdict,
        f"{row.low:.2f} to {row.high:.2f}",
        shown_number(row.plain),
        row.null or "",
        shown_number(row.null_plain),
        shown_number(row.level),
        "" if bound is None else f"{bound:.1f}",
        "" if ns is None else f"{ns[-1]:,.0f}",
        shown_number(row.cost_exponent),
        shown_number(row.claimed_cost_exponent),
        row.theorem,
    ]


def shown_number(value: float | None) -> str:
    """Return a number with two decimals, empty if there is none."""
    return "" if value is None else f"{value:.2f}"


def claimed(row: Claim) -> str:
    """Return the claimed growth: the exponent, and the power of the logarithm, if any."""
    logs = f" log^{row.log_power:.2g}" if row.log_power else ""
    return f"{row.axis}^{row.claimed_exponent:.2g}{logs}"


def shown(table: Sequence[Claim]) -> Table:
    """Return the table for the terminal: as many columns as fit, verdicts in colour."""
    rows = [cells(row) for row in table]
    columns = [[head, *texts] for head, *texts in zip(HEAD, *rows, strict=True)]
    fitting = len(HEAD)
    while fitting > ESSENTIAL and width(columns[:fitting]) > console.out.width:
        fitting -= 1
    for texts, row in zip(rows, table, strict=True):
        texts[ESSENTIAL - 1] = f"[{COLOURS[row.verdict]}]{row.verdict}[/]"
    title = "Table 1, measured" + (" (a wider terminal shows more)" if fitting < len(HEAD) else "")
    drawn = console.table(title, HEAD[:fitting], [texts[:fitting] for texts in rows])
    drawn.collapse_padding = fitting == ESSENTIAL  # then 80 characters are enough
    return drawn


def as_markdown(table: Sequence[Claim], size: str) -> str:
    """Return the table as a page of its own."""
    option = "" if size == "default" else f" --{size}"
    lines = [
        "# Table 1, measured",
        "",
        f"Written by `calibrant reproduce{option} --markdown`. {findings.verdicts(table)}",
        "",
        f"| {' | '.join(HEAD)} |",
        f"|{'---|' * len(HEAD)}",
        *(f"| {' | '.join(cells(row))} |" for row in table),
        *(f"\n{reason}" for reason in findings.reasons(table)),
        "",
    ]
    return "\n".join(lines)
