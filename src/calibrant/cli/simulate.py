"""``calibrant simulate``: streams with known means, and games against adversaries.

Each family and each adversary becomes a command. Its options are the parameters of the function,
and their help comes from the docstring.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from calibrant._checks import Floats, check_integer
from calibrant.cli import console
from calibrant.cli.arguments import ForecasterName
from calibrant.forecasters.named import make
from calibrant.streams import ADVERSARIES, FAMILIES, play
from calibrant.tables import Table, write
from calibrant.tables.writing import write_csv

app = typer.Typer(
    help="Simulate a stream with known means, or a game against an adversary.",
    no_args_is_help=True,
)

Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Output file; CSV on standard output if not given."),
]
Rounds = Annotated[int, typer.Option(metavar="N", help="Number of rounds.")]


def deliver(name: str, title: str, values: Floats, outcomes: Floats, out: Path | None) -> None:
    """Write round numbers, one column and outcomes to a file, or to standard output as CSV."""
    rounds = len(outcomes)
    whole = outcomes.astype(int).tolist()  # all of these draw 0 or 1
    table = Table(name, {"t": range(1, rounds + 1), title: values, "outcome": whole})
    if out is not None:
        write(out, table)
        console.note(f"{out}: {rounds:,} rounds of {name}")
    else:
        write_csv(sys.stdout.buffer, table)


def parameter_help(doc: str) -> dict[str, str]:
    """Return the description of each parameter in a docstring, as one line."""
    section = doc.partition("Parameters\n")[2]
    helps = {"seed": "Seed of the random draws."}
    for names, kind, text in re.findall(
        r"^([\w, ]+) :([^\n]*)\n((?:    [^\n]+\n?)+)", section, re.M
    ):
        choices = re.findall(r'"(\w+)"', kind)
        allowed = f" One of {', '.join(choices)}." if choices else ""
        helps |= dict.fromkeys(names.split(", "), " ".join(text.split()) + allowed)
    return helps


def add_command(function: Callable[..., Any], body: Callable[..., None], doc: str = "") -> None:
    """Register `body` as a command, with the parameters of `function` as further options."""
    hints = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    text = inspect.getdoc(function) or ""
    helps = parameter_help(text)
    own = inspect.signature(body, eval_str=True).parameters
    parameters = [each for each in own.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in own:
            continue
        kind = hints[parameter.name]
        if kind == Sequence[float] | None:
            kind = list[float] | None  # on the command line, the option is repeated
        option = typer.Option(help=helps.get(parameter.name, ""))
        parameters.append(
            parameter.replace(
                kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option]
            )
        )
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    line = text.partition("\n")[0].removeprefix("Return ")
    app.command(body.__name__.replace("_", "-"), help=f"{doc}{line[:1].upper()}{line[1:]}")(body)


def add_family(name: str) -> None:
    """Add a command that writes a synthetic stream."""

    def command(*, rounds: Rounds = 10_000, out: Out = None, **parameters: Any) -> None:
        with console.clean_end():
            stream = FAMILIES[name](check_integer("--rounds", rounds, 1), **parameters)
            deliver(name, "mean", stream.means, stream.outcomes, out)

    command.__name__ = name
    add_command(FAMILIES[name], command)


def add_adversary(name: str) -> None:
    """Add a command that plays an adversary against a forecaster."""

    def command(
        *,
        rounds: Rounds = 10_000,
        forecaster: ForecasterName = "zoom",
        forecaster_seed: Annotated[
            int, typer.Option(metavar="N", help="Seed of the forecaster.")
        ] = 0,
        out: Out = None,
        **parameters: Any,
    ) -> None:
        with console.clean_end():
            player = make(forecaster, seed=forecaster_seed, rounds=rounds)
            game = play(player, ADVERSARIES[name](**parameters), rounds)
            deliver(name, "prediction", game.predictions, game.outcomes, out)

    command.__name__ = name
    add_command(ADVERSARIES[name], command, "Adversary: ")


for each in FAMILIES:
    add_family(each)
for each in ADVERSARIES:
    add_adversary(each)
