"""``calibrant inspect``: what a file holds, and the command that would use it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from calibrant.cli import console
from calibrant.cli.arguments import Delimiter, Source
from calibrant.tables import Inspection, inspect_table

UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def inspect(
    source: Source,
    delimiter: Delimiter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at FILE: its columns, what they seem to be, and the command that would use them."""
    with console.clean_end():
        with console.busy(f"reading {source}"):
            seen = inspect_table(console.read_source(source, delimiter))
        suggested = command(source, seen, delimiter)
        if as_json:
            typer.echo(json.dumps(as_object(seen, suggested), ensure_ascii=False))
        else:
            show(seen, suggested)


def command(source: str, seen: Inspection, delimiter: str | None) -> str | None:
    """Return the command that would use the file, or None if there is none."""
    if not seen.options:
        return None
    words = [program(), "recalibrate" if "score" in seen.options else "forecast", source]
    for name, value in seen.options.items():
        # Joined where the value begins like an option: --positive=-1.
        words += [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]
    if delimiter is not None:
        words += ["--delimiter", delimiter]
    if "score" in seen.options:
        words += ["--report", report_name(source)]
    return shlex.join(words)


def program() -> str:
    """Return what this program is called where it was called: a path if no shell finds it."""
    typed = sys.argv[0]
    is_hidden = Path(typed).name == "calibrant" and shutil.which("calibrant") is None
    return typed if is_hidden else "calibrant"


def report_name(source: str) -> str:
    """Return a name for the report: that of the file, in the folder of whoever asks."""
    return "report.html" if source == "-" else f"{Path(source).name.split('.')[0] or 'report'}.html"


def show(seen: Inspection, suggested: str | None) -> None:
    """Print the columns, their parts, rates and delays, what is not clear, and the command."""
    console.say(f"{seen.source}: {seen.rows:,} rows, {len(seen.columns)} columns\n")
    parts = {name: part for part, name in seen.roles.items()}
    # As `Text`, because brackets in names are no markup.
    lines = [
        [
            Text(each.name),
            parts.get(each.name, "group?" if each.name in seen.groups else ""),
            each.kind,
            f"{each.missing:,}",
            f"{each.distinct:,}",
            Text((" to " if each.is_range else ", ").join(each.examples)),
        ]
        for each in seen.columns
    ]
    head = ["column", "seems to be", "kind", "missing", "distinct", "values"]
    words = ["seems to be", "kind", "values"]
    console.out.print(console.table("Columns", head, lines, words))
    if seen.base_rate is not None:
        console.say(f"\nBase rate: {seen.base_rate:.4f} of the outcomes are 1 (or their mean)")
        if seen.unknown:
            console.say(f"Rows without an outcome: {seen.unknown:,}")
    for value, delay in seen.delays.items():
        half, most = (in_words(each, seen.clock) for each in (delay.median, delay.most))
        console.say(
            f"Outcome {value} became known after {half} (half of them), {most} (9 in 10)"
            + (f"; {delay.never:,} never" if delay.never else "")
        )
    if seen.notes:
        console.out.print("\n[bold]What to check[/]")
        for note in seen.notes:
            console.say(f"- {note}", fold=True)
    if suggested is None:
        console.say("\nNo command to suggest yet: see what to check.")
    else:
        console.out.print("\n[bold]Try[/]")
        console.say(f"  {suggested}")


def in_words(delay: float, clock: str | None) -> str:
    """Return a delay as a sentence says it."""
    if clock == "numbers":
        return f"{delay:g}"
    size, unit = next(((s, u) for s, u in UNITS if delay >= 2 * s), UNITS[-1])
    return f"{delay / size:.3g} {unit}"


def as_object(seen: Inspection, suggested: str | None) -> dict[str, object]:
    """Return the inspection as JSON holds it."""
    return {
        "source": seen.source,
        "rows": seen.rows,
        "columns": [
            {
                "name": each.name, "kind": each.kind, "missing": each.missing,
                "distinct": each.distinct, "examples": each.examples,
            }
            for each in seen.columns
        ],
        "roles": dict(seen.roles),
        "groups": seen.groups,
        "base_rate": seen.base_rate,
        "unknown": seen.unknown,
        "delays": {value: asdict(delay) for value, delay in seen.delays.items()},
        "clock": seen.clock,
        "notes": seen.notes,
        "command": suggested,
    }  # fmt: skip
