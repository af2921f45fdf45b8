"""Arguments that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from calibrant.forecasters.named import FORECASTERS
from calibrant.streams.bundled import CATALOGUE


def check_source(source: str) -> str:
    """Refuse a name that looks like that of a bundled stream, and is neither that nor a file."""
    path = Path(source)
    if source == "-" or source in CATALOGUE or path.suffix or path.exists():
        return source
    streams = ", ".join(CATALOGUE)
    raise typer.BadParameter(f"{source}: is neither a file nor one of the streams {streams}")


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        callback=check_source,
        help="CSV, JSON or Parquet, also packed (.gz, .bz2, .xz, .zst); - for a pipe; or the name "
        "of a stream that comes with calibrant, such as nycflights.",
    ),
]
OutcomeColumn = Annotated[
    str | None,
    typer.Option("--outcome", metavar="COL", help="Column of the outcomes; guessed if not given."),
]
PredictionColumn = Annotated[
    str | None,
    typer.Option(
        "--prediction", metavar="COL", help="Column of the predictions; guessed if not given."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The outcome that counts as 1, where outcomes are neither numbers in [0, 1] nor yes "
        "and no: fraud, for instance. Every other is 0.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="What separates the columns of CSV: one character, or tab. Found from the first line "
        "if not given.",
    ),
]
FORECASTER = (
    "NAME, or NAME:KEY=VALUE,KEY=VALUE with parameters of its own, such as "
    f"foster-hart:gaps=46. The names: {', '.join(FORECASTERS)}."
)
ForecasterName = Annotated[str, typer.Option(metavar="SPEC", help=FORECASTER)]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")]


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
    positive: str | None = None
    delimiter: str | None = None
    state: Path | None = None
    smooth: str | None = None
    strict: bool = False
    due: str | None = None
    silence: int | None = None
    after: str | None = None
    hold: str | None = None
    json: bool = False
    key: str | None = None

    @property
    def has_deadlines(self) -> bool:
        """Whether outcomes are learned at deadlines, and not as they come."""
        return self.silence is not None or self.hold is not None


@dataclass(frozen=True)
class ForecastJob:
    """The arguments of ``calibrant run`` without ``--score``, by the names of their options."""

    source: str
    outcome: str | None = None
    positive: str | None = None
    time: str | None = None
    available: str | None = None
    ahead: int | None = None
    forecaster: str = "event-forecaster"
    seed: int = 0
    column: str = "prediction"
    out: Path | None = None
    report: Path | None = None
    delimiter: str | None = None
    json: bool = False

    @property
    def is_default(self) -> bool:
        """Whether the forecaster is the one that knows times, and outcomes that come late."""
        return self.forecaster.split(":")[0].strip() == "event-forecaster"

    def spec(self, **more: object) -> str:
        """Return the forecaster with these parameters, and how far ahead if that is not 1."""
        if self.ahead not in (None, 1):
            more = {"ahead": self.ahead, **more}
        if not more:
            return self.forecaster
        given = ",".join(f"{name}={value}" for name, value in more.items())
        return f"{self.forecaster}{',' if ':' in self.forecaster else ':'}{given}"
