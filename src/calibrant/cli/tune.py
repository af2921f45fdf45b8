"""``calibrant tune-certificates``: measure the tuned certificates again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from calibrant.cli import console
from calibrant.experiments.certificates import total_rounds, tune
from calibrant.tables.atomic import replacing


def tune_certificates(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Write the table here, as JSON.")
    ] = Path("tuned.json"),
    runs: Annotated[
        int, typer.Option(metavar="N", help="Stationary runs for each measure, at least 60.")
    ] = 1000,
    rounds: Annotated[
        int,
        typer.Option(metavar="N", help="Rounds of a run; a tenth of them are 10 times as long."),
    ] = 100_000,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes to use; all cores if not given.")
    ] = None,
) -> None:
    """Measure the tuned certificates again, by simulation, and write their table.

    The same runs and rounds give the same table, whatever the number of workers.
    """
    # The file is opened first: whoever cannot write there should not learn it after the work.
    with console.clean_end(), replacing(out) as file:
        with console.progress() as shown:
            bar = shown.add_task("simulating", total=total_rounds(runs, rounds))
            table = tune(
                runs=runs,
                rounds=rounds,
                workers=workers,
                advance=lambda played: shown.advance(bar, played),
            )
        file.write((json.dumps(table, indent=2) + "\n").encode())
    console.out.print(certificates(table["measures"]))
    console.note(f"{out}: the tuned certificates of {runs:,} runs of {rounds:,} rounds")


def certificates(rows: dict[str, Any]) -> Table:
    """Return the certificates as a table of formulas."""
    return console.table(
        "Tuned certificates U(n, C) at level delta",
        ["measure", "grows with", "stationary", "for ln(1/delta)", "for the deviation"],
        [
            [
                name,
                "sqrt(n)" if name == "l1" else f"{row['slope']:g} log2(n+1)",
                f"{row['start']:g}",
                f"{row['per_log']:g}",
                f"{row['deviation']:g}",
            ]
            for name, row in rows.items()
        ],
    )
