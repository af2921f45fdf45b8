"""Arguments that several commands share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
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
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the rows here, with their probabilities."),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a report with figures here."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `recalibrate` and `forecast` both take, by the names of the options."""

    source: str
    seed: int = 0
    column: str = ""
    out: Path | None = None
    report: Path | None = None
    delimiter: str | None = None
    json: bool = False

    def command(self, name: str) -> str:
        """Return the command line that gives these options."""
        words, common = ["calibrant", name, self.source], fields(Options)
        own = [each for each in fields(self) if each.name not in {one.name for one in common}]
        for each in (*own, *common[1:]):
            value, default = getattr(self, each.name), type(self).__dataclass_fields__[each.name]
            if value != default.default:
                words += [f"--{each.name}"] if value is True else [f"--{each.name}", str(value)]
        return shlex.join(words)
