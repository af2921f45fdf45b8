"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from calibrant.forecasters import (
    Epoch,
    Forecaster,
    Interval,
    Refined,
    Restarting,
    Swap,
    Zoom,
)
from calibrant.forecasters.rivals import (
    AOSA,
    K29,
    AbernethyBartlettHazan,
    ExponentialWindow,
    Foster1999,
    FosterHart,
    FosterVohra,
    K29Star,
    RunningMean,
    SlidingWindow,
)
from calibrant.streams import Table, names, read
from calibrant.streams.bundled import bundled_table

#: Every forecaster that a user can name, made from a seed.
FORECASTERS: dict[str, Callable[[int], Forecaster]] = {
    "zoom": lambda seed: Zoom(seed=seed),
    "epoch": lambda seed: Epoch(seed=seed),
    "epoch-kl": lambda seed: Epoch("kl", seed=seed),
    "interval": lambda seed: Interval(seed=seed),
    "swap": lambda seed: Swap(seed=seed),
    "refined": lambda seed: Refined(seed=seed),
    "restarting": lambda seed: Restarting(seed=seed),
    "foster-hart": lambda seed: FosterHart(seed=seed),
    "running-mean": lambda seed: RunningMean(seed=seed),
    "sliding-window": lambda seed: SlidingWindow(seed=seed),
    "exponential-window": lambda seed: ExponentialWindow(seed=seed),
    "foster-vohra": lambda seed: FosterVohra(seed=seed),
    "foster-1999": lambda seed: Foster1999(seed=seed),
    "abernethy-bartlett-hazan": lambda seed: AbernethyBartlettHazan(seed=seed),
    "k29": lambda seed: K29(seed=seed),
    "k29-star": lambda seed: K29Star(seed=seed),
    "aosa": lambda seed: AOSA(seed=seed),
}

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
ForecasterName = Annotated[
    str, typer.Option(metavar="NAME", help=f"One of {', '.join(FORECASTERS)}.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")]


def read_source(source: str) -> Table:
    """Return the rows of a file, of standard input, or of a stream that comes with the package."""
    if source in names() and not Path(source).exists():
        return bundled_table(source)
    return read(source)
