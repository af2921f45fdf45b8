"""A before-and-after comparison in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from calibrant.cli import console
from calibrant.measures import ReliabilityTable
from calibrant.report.before_after import BeforeAfter
from calibrant.report.recalibration import READING, group_rows, measured_rows

MOST_GROUPS = 20


def show(both: BeforeAfter, points: Sequence[str]) -> None:
    """Print the measures, the reliability, the groups, and what they say."""
    names = ["calibrated"] if both.raw is None else ["raw", "calibrated"]
    console.out.print(
        console.figures(
            "Before and after (lower is better)",
            ["", *names, console.MEANING],
            [
                [title, *map(console.number, values), meaning]
                for title, values, meaning in measured_rows(both)
            ],
        )
    )
    console.out.print("\n", reliability(both))
    if both.groups:
        head, rows = group_rows(both, shown_only=MOST_GROUPS)
        shown: list[list[str | Text]] = [
            [Text(str(group)), *(console.number(float(value)) for value in values)]
            for group, *values in rows
        ]
        console.out.print("\n", console.figures("By group", head, shown))
        if len(both.groups) > MOST_GROUPS:
            console.explain(f"and {len(both.groups) - MOST_GROUPS:,} smaller groups")
    console.out.print("\n[bold]What to look at[/]")
    for point in points:
        console.out.print(bullet(point))
    console.explain(f"\n{READING}")


def bullet(text: str) -> Table:
    """Return a point of a list, folded at words beside its mark."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column()
    grid.add_row("-", Text(text))
    return grid


def reliability(both: BeforeAfter) -> Table:
    """Return what was said and what happened, bin by bin, before and after."""
    sides = [scores.reliability for scores in (both.raw, both.calibrated) if scores is not None]
    names = ["calibrated"] if both.raw is None else ["raw", "calibrated"]
    head = ["\nbin"]
    for name in names:
        head += [f"{name}\nrounds", "\nsaid", "\nhappened", ""]
    rows = []
    for at in range(len(both.calibrated.reliability)):
        if any(side.count[at] for side in sides):
            bins = both.calibrated.reliability
            row = [f"{bins.lower[at]:.1f}-{bins.upper[at]:.1f}"]
            for side in sides:
                row += side_of(side, at)
            rows.append(row)
    level = both.calibrated.reliability.level
    return console.figures(
        f"Of what was said, how much happened (off: beyond a {level:.0%} interval)", head, rows
    )


def side_of(table: ReliabilityTable, at: int) -> list[str]:
    """Return one bin as cells."""
    if not table.count[at]:
        return ["-", "", "", ""]
    said, low, high = table.mean_prediction[at], table.interval_low[at], table.interval_high[at]
    return [
        f"{table.count[at]:,}", f"{said:.3f}", f"{table.mean_outcome[at]:.3f}",
        "" if low <= said <= high else "off",
    ]  # fmt: skip
