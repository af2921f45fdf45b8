"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.forecasters.named import FORECASTERS
from calibrant.streams.bundled import CATALOGUE, bundled_table
from calibrant.tables import Table, read

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


def read_source(source: str) -> Table:
    """Return the rows of a file, of standard input, or of a stream that comes with the package."""
    if source in CATALOGUE and not Path(source).exists():
        return bundled_table(source)
    return read(source)
