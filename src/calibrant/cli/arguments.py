"""Arguments that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from calibrant.forecasters.named import FORECASTERS


def option(metavar: str, text: str, *names: str, panel: str | None = None) -> Any:
    """Return an option that takes a value; the help shows a panel's options separately."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel)


def of_column(text: str, *names: str, panel: str | None = None) -> Any:
    """Return an option that takes the name of a column."""
    return option("COL", text, *names, panel=panel)


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, JSON or Parquet file, possibly compressed (.gz, .bz2, .xz, .zst); - for a pipe; "
        "or the name of a bundled stream, such as nycflights.",
    ),
]
OutcomeColumn = Annotated[
    str | None, of_column("Column of the outcomes; guessed if not given.", "--outcome")
]
PredictionColumn = Annotated[
    str | None, of_column("Column of the predictions; guessed if not given.", "--prediction")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Positive = Annotated[
    str | None,
    option(
        "VALUE",
        "The outcome that counts as 1, such as fraud; all others count as 0. Needed if the "
        "outcomes are neither numbers in [0, 1] nor yes and no.",
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "CHAR",
        "Column separator of a CSV file: one character, or tab. Detected from the first line "
        "if not given.",
    ),
]
FORECASTER = (
    "NAME, or NAME:KEY=VALUE,KEY=VALUE with parameters, such as "
    f"foster-hart:gaps=46. Names: {', '.join(FORECASTERS)}."
)
ForecasterName = Annotated[str, option("SPEC", FORECASTER)]
OutFile = Annotated[
    Path | None, option("FILE", "Write the rows and their predictions here.", "--out")
]
ReportFile = Annotated[
    Path | None, option("FILE.html", "Write a report with figures here.", "--report")
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
    option("CHECKS", "Checks to skip, comma-separated, such as leak.auc,lopsided."),
]
Sort = Annotated[str | None, of_column("Sort the rows by this column of times first.")]
DateFormat = Annotated[
    str | None,
    option(
        "FORMAT",
        "Format of times that are not ISO 8601, such as %d.%m.%Y or %m/%d/%Y %H:%M.",
    ),
]
Seed = Annotated[int, option("N", "Seed of the random draws.")]

F = TypeVar("F", bound=Callable[..., None])


class Options:
    """The options of a command: a data class whose fields are declared as parameters would be."""

    source: str

    def command(self, name: str) -> str:
        """Return the command line with these options."""
        words = ["calibrant", name, self.source]
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            # What --trust-order says is in --allow.
            if each.name not in ("source", "trust_order") and value != each.default:
                option = f"--{each.name.replace('_', '-')}"
                words += [option] if value is True else [option, str(value)]
        return shlex.join(words)


def default_of(field: Field[Any]) -> Any:
    """Return the default of a field as that of a parameter."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default


def taking(options: type[Any]) -> Callable[[F], F]:
    """Return a decorator that gives a command the fields of a data class as its parameters."""
    hints = get_type_hints(options, include_extras=True)
    parameters = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, annotation=hints[each.name],
                  default=default_of(each))
        for each in fields(options)
    ]  # fmt: skip

    def decorated(command: F) -> F:
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorated
