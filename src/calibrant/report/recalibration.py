"""The page about one recalibration: what changed, when, for whom, and how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calibrant._checks import Floats
from calibrant.report.before_after import BeforeAfter, Scores
from calibrant.report.figures import ErrorThroughTime, ReliabilityDiagram
from calibrant.report.page import Page
from calibrant.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Name, attribute, what it is.
MEASURES = (
    ("Brier score", "brier", "squared error"),
    ("log loss", "log_loss", "surprise, in nats"),
    ("Cal1, sum", "cal1", "rounds by which counts are off"),
    ("Cal2, sum", "cal2", "what calibration would save"),
    ("ECE, 20 bins", "ece", "said and happened, apart"),
    ("smECE", "smece", "the same, smoothed"),
)
READING = (
    "Lower is better everywhere. Cal1 and Cal2 count exactly, without bins, and ask for "
    "probabilities that repeat: scores with many distinct values are charged for noise, so "
    "compare those by ECE and smECE."
)
MOST_GROUPS = 40


def measured_rows(both: BeforeAfter) -> list[tuple[str, list[float], str]]:
    """Return each measure: its name, its values (raw first, where there is one), what it is.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions([0.9, 0.9], [0.6, 0.4], [1, 0])
    >>> [(name, len(values)) for name, values, _ in measured_rows(both)][:2]
    [('Brier score', 2), ('log loss', 2)]
    """
    columns = [scores for scores in (both.raw, both.calibrated) if scores is not None]
    rows = [
        (title, [float(getattr(scores, name)) for scores in columns], meaning)
        for title, name, meaning in MEASURES
    ]
    if both.calibrated.worst is not None:
        worst = [scores.worst.ece for scores in columns if scores.worst is not None]
        rows.append((f"worst {both.window:,} rounds", worst, "ECE of the worst window"))
    rows.append(("distinct", [scores.distinct for scores in columns], "different probabilities"))
    return rows


def recalibration_page(
    both: BeforeAfter,
    raw: Floats | None,
    calibrated: Floats,
    outcomes: Floats,
    *,
    title: str,
    points: Sequence[str],
    made: Mapping[str, str],
) -> Page:
    """Return the page.

    Parameters
    ----------
    both : BeforeAfter
        The numbers.
    raw, calibrated, outcomes : array of float
        The rounds whose outcomes are known; `raw` is None where scores are no probabilities.
    title : str
        The heading.
    points : sequence of str
        What to look at, as `calibrant.report.what_changed` says it.
    made : mapping of str to str
        How the run was made.

    Examples
    --------
    >>> import numpy as np
    >>> raw, calibrated, outcomes = np.array([[0.9, 0.9], [0.6, 0.4], [1.0, 0.0]])
    >>> both = BeforeAfter.from_predictions(raw, calibrated, outcomes)
    >>> page = recalibration_page(
    ...     both, raw, calibrated, outcomes, title="Two rounds", points=["Few."], made={"seed": "0"}
    ... )
    >>> "<h1>Two rounds</h1>" in page.html()
    True
    """
    names = ["calibrated"] if raw is None else ["raw", "calibrated"]
    page = Page(
        title,
        [f"{both.rounds:,} rounds with an outcome, which was {both.mean_outcome:.3f} in the mean. "
         "What to look at, and what it means:", *points],
    )  # fmt: skip
    page.section("Before and after", READING)
    page.table(
        ["", *names, "what it is"],
        [[name, *map(digits, values), meaning] for name, values, meaning in measured_rows(both)],
        "All rounds with an outcome.",
    )
    page.section(
        "Of what was said, how much happened",
        "Points on the diagonal are calibrated: of what was called 70 %, 70 % happened. Below it, "
        "too much was said; above it, too little. Bars are 95 % intervals that take rounds as "
        "independent; the strip below counts the rounds.",
    )
    series = dict(zip(names, [calibrated] if raw is None else [raw, calibrated], strict=True))
    page.figure(
        side_by_side(series, outcomes),
        "Reliability before and after." if raw is not None else "Reliability.",
        reliability_in_words(both),
    )
    if both.calibrated.worst is not None:
        page.section(
            "Through time",
            f"The ECE of each {both.window:,} rounds by itself. A pooled error can hide that a "
            "model says too much in one season and too little in the next; this cannot. It never "
            "reaches 0: chance alone leaves a few hundredths in so few rounds.",
        )
        page.figure(
            ErrorThroughTime.from_several(series, outcomes, measure="ece", window=both.window),
            f"ECE of each {both.window:,} rounds.",
            "ECE through time; "
            + ", ".join(
                f"at worst {value:.3f} {name}"
                for name, value in zip(names, worst_of(both), strict=True)
            )
            + ".",
        )
    if both.groups:
        add_groups(page, both)
    page.section("How this was made")
    page.table(["", "this run"], [[name, value] for name, value in made.items()], "The run.")
    return page


def digits(value: float) -> str:
    """Return a number with digits enough to see a small change.

    Examples
    --------
    >>> digits(0.17301), digits(1725.04), digits(53877)
    ('0.1730', '1,725.0', '53,877')
    """
    if math.isinf(value):
        return "infinite"  # a log loss, where something called impossible happened
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 10.0 else f"{value:.4f}"


def worst_of(both: BeforeAfter) -> list[float]:
    """Return the worst ECE of a window, raw first."""
    columns = [scores for scores in (both.raw, both.calibrated) if scores is not None]
    return [scores.worst.ece for scores in columns if scores.worst is not None]


def add_groups(page: Page, both: BeforeAfter) -> None:
    """Add the table of groups, the largest first."""
    shown = both.groups[:MOST_GROUPS]
    rest = len(both.groups) - len(shown)
    page.section(
        "By group",
        "Each group by itself, the largest first. In a group with few rounds, errors are mostly "
        "chance." + (f" The {rest:,} smallest groups are not shown." if rest else ""),
    )
    head, rows = group_rows(both, shown_only=MOST_GROUPS)
    page.table(
        head,
        [[row[0], *(digits(float(value)) for value in row[1:])] for row in rows],
        "Brier score and ECE (20 bins) by group.",
    )


def group_rows(
    both: BeforeAfter, shown_only: int | None = None
) -> tuple[list[str], list[list[str | float]]]:
    """Return the head and the rows of a table of groups.

    Examples
    --------
    >>> both = BeforeAfter.from_predictions(
    ...     [0.9, 0.9], [0.5, 0.5], [1, 0], groups=["north", "south"])
    >>> group_rows(both)[1][0][:2]
    ['north', 1]
    """
    with_raw = both.raw is not None
    measures = [("Brier", "brier"), ("ECE", "ece")]
    head = ["group", "rounds"]
    for title, _ in measures:
        head += [f"{title} raw", f"{title} calibrated"] if with_raw else [title]
    rows: list[list[str | float]] = []
    for part in both.groups[:shown_only]:
        row: list[str | float] = [str(part.group), part.rounds]
        for _, name in measures:
            row += [getattr(part.raw, name)] if part.raw is not None else []
            row.append(getattr(part.calibrated, name))
        rows.append(row)
    return head, rows


def side_by_side(series: Mapping[str, Floats], outcomes: Floats) -> Figure:
    """Return the reliability diagrams of several columns, beside each other."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    with styled():
        figure = Figure(figsize=(4.6 * len(series), 6.0), layout="constrained")
        for ax, (name, values) in zip(
            figure.subplots(1, len(series), squeeze=False)[0], series.items(), strict=True
        ):
            diagram = ReliabilityDiagram.from_predictions(values, outcomes, bins=10, name=name)
            diagram.plot(ax).set_anchor("N")  # what room is left belongs to the strip below
    return figure


def reliability_in_words(both: BeforeAfter) -> str:
    """Return what the diagrams show, for whoever cannot see them."""

    def words(name: str, scores: Scores) -> str:
        return f"{name}, {scores.bins_off} of {scores.bins_used} bins lie off the diagonal"

    parts = [words("calibrated", both.calibrated)]
    if both.raw is not None:
        parts.insert(0, words("raw", both.raw))
    return "Reliability: " + "; ".join(parts) + "."
