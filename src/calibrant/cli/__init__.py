"""The command line: run, measure, compare, report, reproduce and simulate."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant import __version__
from calibrant.cli import simulate
from calibrant.cli.compare import compare
from calibrant.cli.measure import measure
from calibrant.cli.report import report
from calibrant.cli.reproduce import reproduce
from calibrant.cli.run import run

app = typer.Typer(
    name="calibrant",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(measure)
app.command()(compare)
app.command()(report)
app.command()(reproduce)
app.add_typer(simulate.app, name="simulate")


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Probability forecasts that stay calibrated while the world changes."""


def main() -> None:
    """Run the command line."""
    app()
