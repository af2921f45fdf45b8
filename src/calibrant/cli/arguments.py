"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from calibrant import __version__
from calibrant.forecasters.named import FORECASTERS
from calibrant.streams.bundled import CATALOGUE, bundled_table
from calibrant.tables import InputError, Table, read
from calibrant.tables.writing import kind_to_write

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, JSON Lines or Parquet, also with .gz; - for a pipe; or the name of a "
        "stream that comes with calibrant, such as nycflights.",
    ),
]
OutcomeColumn = Annotated[
    str | None,
    typer.Option("--outcome", metavar="COL", help="Column of the outcomes; guessed if not given."),
]
FORECASTER = (
    "NAME, or NAME:KEY=VALUE,KEY=VALUE with parameters of its own, such as "
    f"foster-hart:gaps=46. The names: {', '.join(FORECASTERS)}."
)
ForecasterName = Annotated[str, typer.Option(metavar="SPEC", help=FORECASTER)]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")]


def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Probability forecasts that stay calibrated while the world changes."""
    if version:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@dataclass(frozen=True)
class Job:
    """The arguments of ``calibrant run --score``, by the names of their options."""

    source: str
    score: str
    outcome: str | None = None
    id: str | None = None
    time: str | None = None
    available: str | None = None
    by: str | None = None
    kind: str = "probability"
    seed: int = 0
    column: str = "calibrated"
    out: Path | None = None
    report: Path | None = None


def read_source(source: str, out: Path | None = None, column: str = "") -> Table:
    """Return the rows of a file, of standard input, or of a stream that comes with the package.

    If they are to be written to `out` with a new column, refuse what cannot be: before the work,
    not after it.
    """
    if out is not None:
        kind_to_write(str(out))
        if out.exists() and Path(source).exists() and out.samefile(source):
            raise InputError("is the file that is read; give --out another name", source=str(out))
    is_bundled = source in CATALOGUE and not Path(source).exists()
    table = bundled_table(source) if is_bundled else read(source)
    if out is not None and column in table.columns:
        raise ValueError(f"{source} has a column {column!r} already; name another with --column")
    return table
