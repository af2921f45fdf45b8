"""Arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.forecasters.named import FORECASTERS

Source = Annotated[
    str,
    typer.Argument(metavar="FILE", help="CSV, JSON Lines or Parquet, also with .gz; - for a pipe."),
]
OutcomeColumn = Annotated[
    str | None,
    typer.Option("--outcome", metavar="COL", help="Column of the outcomes; guessed if not given."),
]
ForecasterName = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help="NAME, or NAME:KEY=VALUE,KEY=VALUE with parameters of its own, such as "
        f"foster-hart:cells=46. The names: {', '.join(FORECASTERS)}.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")]
