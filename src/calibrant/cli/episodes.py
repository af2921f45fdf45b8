"""What a monitor found, as commands show it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from calibrant import Episode
from calibrant.cli import console
from calibrant.report.watch_page import HEAD, WatchReport


def summary_of(found: WatchReport) -> dict[str, Any]:
    """Return what was found as JSON has it."""
    return {
        "rounds": len(found.predictions),
        "state": found.monitor.state,
        "evidence": found.monitor.evidence,
        "episodes": [as_object(each) for each in found.episodes],
    }


def as_object(episode: Episode) -> dict[str, Any]:
    """Return an episode as JSON has it."""
    fields = {**asdict(episode), "direction": episode.direction, "text": str(episode)}
    return {name: value for name, value in fields.items() if value is not None or name == "end"}


def table_of(title: str, found: WatchReport, most: int | None = None) -> Table:
    """Return the episodes as a table, at most so many of the last."""
    rows = found.rows() if most is None else found.rows()[-most:]
    # As `Text`, because brackets in the name of a group are no markup.
    lines = [[Text(cell) for cell in row[:-1]] for row in rows]
    return console.table(title, HEAD[:-1], lines, ("where",))


def show_episodes(found: dict[str, WatchReport], note: str | None = None, most: int = 10) -> None:
    """Print what a monitor found in each, a note on it, and the last episodes."""
    console.out.print("\n[bold]Alarms[/]")
    for name, each in found.items():
        console.say(f"{name}: {each.sentence}", fold=True)
    if note is not None:
        console.say(note, fold=True)
    for name, each in found.items():
        if each.episodes:
            left = len(each.episodes) - most
            title = f"Episodes of {name}" + (
                f", the last {most} of {left + most}" if left > 0 else ""
            )
            console.out.print("\n", table_of(title, each, most))
