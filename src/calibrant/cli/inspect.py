"""``calibrant inspect``: what a file contains, and a command to run on it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from calibrant.checks import Columns, Finding, check_columns
from calibrant.checks.order import time_order
from calibrant.checks.scores import scale
from calibrant.cli import console
from calibrant.cli.arguments import Delimiter, Source
from calibrant.recalibrate.class_rows import class_columns
from calibrant.tables import InputError, Inspection, Table, inspect_table, take_scored
from calibrant.tables.inspection import LATENESS
from calibrant.tables.roles import hints_at
from calibrant.tables.scored import prepare

#: How dates are usually written besides ISO 8601; the first that fits all values is suggested.
DATES = tuple(
    f"{day}{time}"
    for day in ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
    for time in ("", " %H:%M", " %H:%M:%S")
)
#: Checks that refuse rows, and that the suggested options resolve.
CURED = {"order.backwards", "order.shuffled", "scale.percent", "missing_scores"}
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def inspect(
    source: Source,
    delimiter: Delimiter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the columns of FILE, what they seem to be, and a command to run on it."""
    with console.clean_end():
        with console.err.status(Text(f"reading {source}")):
            table = console.read_source(source, delimiter)
            seen, found = questioned(table, inspect_table(table))
        suggested = command(source, seen, delimiter)
        if as_json:
            typer.echo(json.dumps(as_object(seen, suggested, found), ensure_ascii=False))
        else:
            show(seen, suggested, found)


def questioned(table: Table, seen: Inspection) -> tuple[Inspection, list[Finding]]:
    """Return the inspection with options that resolve problems of the rows, and the findings."""
    options, found = dict(seen.options), list[Finding]()
    dates = dates_in(table, seen)
    notes = [*seen.notes, *recurring(seen)]
    for name, (written, example) in dates.items():
        notes.append(
            f"column {name!r} holds dates such as {example}: to use it, give their format "
            f"(--time {shlex.quote(name)} --date-format {shlex.quote(written)})"
        )
    if not options and {"score", "outcome"} <= set(seen.roles):
        options, found = rescued(table, seen.roles)
    if "outcome" not in options or not {"forecast", "scores"}.isdisjoint(options):
        return replace(seen, notes=tuple(notes)), found
    if "score" in options and "time" not in options:
        for each in seen.columns:
            order = None
            if each.clock is not None and not np.isnan(each.clock.ticks).any():
                order = time_order(each.clock.ticks)
            if order is not None and "sort" not in options:
                found.append(order)
                options |= {"time": each.name, "sort": each.name}
    if "score" in options and "time" not in options and len(dates) == 1:
        ((name, (written, _)),) = dates.items()
        table, _ = prepare(table, clocks=(name,), date_format=written)
        options |= {"time": name, "date-format": written}
        order = time_order(table.cells(name).clock().ticks)
        if order is not None:
            found.append(order)
            options["sort"] = name
    table, _ = prepare(
        table, score=options.get("score"), sort=options.get("sort"), missing=options.get("missing")
    )
    names = ("score", "outcome", "time", "available", "positive", "kind", "scale")
    if "score" in options:
        given: dict[str, Any] = {name: options[name] for name in names if name in options}
        rows = take_scored(table, **given)
        columns = Columns(
            rows.outcomes, rows.scores, None if rows.clock is None else rows.clock.ticks,
            None if rows.available is None else rows.available.ticks,
            kind=options.get("kind", "probability"),
        )  # fmt: skip
        if options.get("kind") == "margin":
            percents = scale(replace(columns, kind="probability"))
            if percents is not None and percents.check == "scale.percent":
                found.append(percents)
                del options["kind"]
                options["scale"] = "percent"
    else:
        outcomes = table.cells(options["outcome"]).outcomes(
            positive=options.get("positive"), missing=True
        )
        columns = Columns(outcomes)
    found += check_columns(columns)
    checks = {each.check for each in found}
    if CURED & checks:  # a finding about the whole column replaces the note on its first row
        notes = [note for note in notes if not note.startswith(f"{table.source}, line")]
    if "lateness" in checks:
        notes = [note for note in notes if note != LATENESS]
    refused = {each.check for each in found if each.severity == "refuse"}
    if "one_sided" in refused:
        # This outcome is never reported; only the user knows how long to wait for the other.
        silent = 1 - int(np.nanmax(columns.outcomes))
        options |= {"silence": str(silent), "after": "SPAN"}
    elif refused - CURED:
        options = {}
    return replace(seen, options=options, notes=tuple(notes)), found


def rescued(table: Table, roles: Mapping[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """Return options for rows that are refused as they are: percents, or missing scores."""
    names = ("score", "outcome", "time", "available")
    parts: dict[str, Any] = {part: roles[part] for part in names if part in roles}
    try:
        wide = take_scored(table, **parts, kind="margin", missing=True)
    except InputError:
        return {}, []
    options, found = dict(parts), list[Finding]()
    gone = int(np.isnan(wide.scores).sum())
    if gone:
        options["missing"] = "skip"
        seen = f"{gone:,} of {len(table):,} rows have no score."
        cure = "Leave them out (--missing skip), or fill them in."
        found.append(Finding("missing_scores", "refuse", seen, cure))
    percents = scale(Columns(wide.outcomes, wide.scores))
    if percents is not None:
        found.append(percents)
        if percents.check != "scale.percent":
            return {}, found
        options["scale"] = "percent"
    return (options if found else {}), found


def dates_in(table: Table, seen: Inspection) -> dict[str, tuple[str, str]]:
    """Return the text columns whose values are dates in a national format: format and example."""
    found = {}
    for each in seen.columns:
        if each.kind != "text":
            continue
        cells = [str(cell) for cell in table.cells(each.name).values()[:1000] if cell]
        for written in DATES:
            if cells and all(is_written(cell, written) for cell in cells):
                found[each.name] = written, cells[0]
                break
    return found


def is_written(cell: str, written: str) -> bool:
    """Return whether a date has this format."""
    try:
        datetime.strptime(cell.strip(), written)
    except ValueError:
        return False
    return True


def recurring(seen: Inspection) -> list[str]:
    """Return a note for each column whose name suggests an id, but whose values recur."""
    return [
        f"the {each.distinct:,} values of column {each.name!r} recur in {seen.rows:,} rows, but an "
        f"id must be unique: combine several columns, such as --id {each.name},month"
        for each in seen.columns
        if hints_at(each.name, "id")
        and each.name not in seen.roles.values()
        and 1 < each.distinct < seen.rows
    ]


def command(source: str, seen: Inspection, delimiter: str | None) -> str | None:
    """Return a command to run on the file, or None if there is none to suggest."""
    if not seen.options:
        return None
    is_recalibrated = not seen.options.keys().isdisjoint(("score", "scores", "forecast"))
    words = [program(), "recalibrate" if is_recalibrated else "forecast", source]
    for name, value in seen.options.items():
        # Joined where the value begins like an option: --positive=-1.
        words += [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]
    if delimiter is not None:
        words += ["--delimiter", delimiter]
    if is_recalibrated and find_spec("matplotlib") is not None:  # a report needs it
        words += ["--report", report_name(source)]
    return shlex.join(words)


def program() -> str:
    """Return the name of this program, or its path if it is not on the search path."""
    typed = sys.argv[0]
    is_hidden = Path(typed).name == "calibrant" and shutil.which("calibrant") is None
    return typed if is_hidden else "calibrant"


def report_name(source: str) -> str:
    """Return a name for the report: the file's name, in the current folder."""
    return "report.html" if source == "-" else f"{Path(source).name.split('.')[0] or 'report'}.html"


def show(seen: Inspection, suggested: str | None, found: Sequence[Finding]) -> None:
    """Print the columns and their roles, rates and delays, what to check, and the command."""
    console.say(f"{seen.source}: {seen.rows:,} rows, {len(seen.columns)} columns\n")
    parts = {name: part for part, name in seen.roles.items()}
    if "scores" in seen.roles:
        columns = class_columns([each.name for each in seen.columns], seen.roles["scores"])
        parts |= dict.fromkeys(columns.values(), "scores")
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
        of = "known outcomes" if seen.unknown else "outcomes"
        console.say(f"\nBase rate: {seen.base_rate:.4f}, the mean of the {of}")
        if seen.unknown:
            console.say(f"Rows without an outcome: {seen.unknown:,}")
    for value, delay in seen.delays.items():
        half, most = (in_words(each, seen.clock) for each in (delay.median, delay.most))
        console.say(
            f"Outcome {value} became known after {half} (half of them), {most} (9 in 10)"
            + (f"; {delay.never:,} never" if delay.never else "")
        )
    if seen.notes or found:
        console.out.print("\n[bold]What to check[/]")
        for note in (*(each.message for each in found), *seen.notes):
            console.say(f"- {note}", fold=True)
    if suggested is None:
        console.say("\nNo command to suggest yet; see the notes above.")
    else:
        console.out.print("\n[bold]Try[/]")
        console.say(f"  {suggested}")


def in_words(delay: float, clock: str | None) -> str:
    """Return a delay in words."""
    if clock == "numbers":
        return f"{delay:g}"
    size, unit = next(((s, u) for s, u in UNITS if delay >= 2 * s), UNITS[-1])
    return f"{delay / size:.3g} {unit}"


def as_object(
    seen: Inspection, suggested: str | None, found: Sequence[Finding]
) -> dict[str, object]:
    """Return the inspection for JSON."""
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
        "checks": [each.as_object() for each in found],
        "command": suggested,
    }  # fmt: skip
