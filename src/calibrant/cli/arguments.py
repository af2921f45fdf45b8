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
        help="CSV, JSON or Parquet, possibly compressed (.gz, .bz2, .xz, .zst); - for a pipe; or "
        "the name of a stream that comes with calibrant, such as nycflights.",
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
TrustOrder = Annotated[
    bool,
    typer.Option(
        "--trust-order",
        help="The rows are in the order of time, though they look sorted or grouped.",
    ),
]
Allow = Annotated[
    str | None,
    typer.Option(
        metavar="CHECKS",
        help="Checks to allow, comma-separated: leak.auc,lopsided.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Put the rows in the order of this column of time first."),
]
DateFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="How times are written where that is not ISO 8601: %d.%m.%Y, or %m/%d/%Y %H:%M.",
    ),
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
    trust_order: bool = False
    allow: str | None = None
    sort: str | None = None
    date_format: str | None = None

    @property
    def allowed(self) -> str:
        """The checks that the user answers for."""
        return f"{self.allow or ''},{'order' if self.trust_order else ''}"

    def command(self, name: str) -> str:
        """Return the command line that gives these options."""
        words, common = ["calibrant", name, self.source], fields(Options)
        own = [each for each in fields(self) if each.name not in {one.name for one in common}]
        for each in (*own, *common[1:]):
            value, default = getattr(self, each.name), type(self).__dataclass_fields__[each.name]
            if value != default.default:
                option = f"--{each.name.replace('_', '-')}"
                words += [option] if value is True else [option, str(value)]
        return shlex.join(words)
