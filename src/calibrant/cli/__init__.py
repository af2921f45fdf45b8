"""The command line: files in, figures and reports out, and a service.

Each command has its own file, with its options; the pipe of `recalibrate` is in
`recalibrate_pipe`. `arguments` holds the options that several commands share, `console` what all
commands do: read rows, print, and exit cleanly. `streams` wraps standard output and standard error.
"""

from __future__ import annotations

import re
from inspect import getdoc

import typer

from calibrant.cli import console, simulate, token
from calibrant.cli.compare import compare
from calibrant.cli.forecast import forecast
from calibrant.cli.inspect import inspect
from calibrant.cli.measure import measure
from calibrant.cli.recalibrate import recalibrate
from calibrant.cli.report import report
from calibrant.cli.reproduce import reproduce
from calibrant.cli.serve import serve
from calibrant.cli.streams import forget_unread_remarks, open_what_is_closed
from calibrant.cli.watch import watch

app = typer.Typer(
    name="calibrant",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(invoke_without_command=True)(console.options)
for command in (inspect, recalibrate, forecast, watch, measure, compare, report, reproduce, serve):
    app.command()(command)
for each in (app, simulate.app, token.app):
    for registered in each.registered_commands:
        # Wrap help to the width of the terminal, not where the docstring breaks its lines.
        text = registered.help or getdoc(registered.callback) or ""
        registered.help = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
app.add_typer(simulate.app, name="simulate")
app.add_typer(token.app, name="token")


def main() -> None:
    """Run the command line."""
    open_what_is_closed()
    try:
        app()
    finally:
        forget_unread_remarks()
