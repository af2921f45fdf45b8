"""Arguments that several commands share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from calibrant.forecasters.named import FORECASTERS

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, JSON or Parquet file, possibly compressed (.gz, .bz2, .xz, .zst); - for a pipe; "
        "or the name of a bundled stream, such as nycflights.",
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
        help="The outcome that counts as 1, such as fraud; all others count as 0. Needed if the "
        "outcomes are neither numbers in [0, 1] nor yes and no.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Column separator of a CSV file: one character, or tab. Detected from the first line "
        "if not given.",
    ),
]
FORECASTER = (
    "NAME, or NAME:KEY=VALUE,KEY=VALUE with parameters, such as "
    f"foster-hart:gaps=46. Names: {', '.join(FORECASTERS)}."
)
ForecasterName = Annotated[str, typer.Option(metavar="SPEC", help=FORECASTER)]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the rows and their predictions here."),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a report with figures here."),
]
TrustOrder = Annotated[
    bool,
    typer.Option(
        "--trust-order",
        help="Accept rows that look sorted or grouped: they are in order of time.",
    ),
]
Allow = Annotated[
    str | None,
    typer.Option(
        metavar="CHECKS",
        help="Checks to skip, comma-separated, such as leak.auc,lopsided.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Sort the rows by this column of times first."),
]
DateFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="Format of times that are not ISO 8601, such as %d.%m.%Y or %m/%d/%Y %H:%M.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random draws.")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that `recalibrate` and `forecast` share."""

    source: str
    seed: int = 0
    column: str = ""
    out: Path | None = None
    report: Path | None = None
    delimiter: str | None = None
    json: bool = False
    allow: str | None = None
    sort: str | None = None
    date_format: str | None = None

    def command(self, name: str) -> str:
        """Return the command line with these options."""
        words, common = ["calibrant", name, self.source], fields(Options)
        own = [each for each in fields(self) if each.name not in {one.name for one in common}]
        for each in (*own, *common[1:]):
            value, default = getattr(self, each.name), type(self).__dataclass_fields__[each.name]
            if value != default.default:
                option = f"--{each.name.replace('_', '-')}"
                words += [option] if value is True else [option, str(value)]
        return shlex.join(words)
