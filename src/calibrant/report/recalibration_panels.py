"""The panels of the page about a recalibration: one function each, in the order of `PANELS`.

A panel takes the report and adds to the page what it has to show, or nothing. A new one is a
function and its place in `PANELS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from calibrant import __version__
from calibrant.recalibrate import Recalibrator
from calibrant.report.before_after import BeforeAfter
from calibrant.report.figures import (
    ErrorThroughTime,
    MeanThroughTime,
    ReliabilityDiagram,
    ScoreMap,
)
from calibrant.report.figures.axes import logit_ends
from calibrant.report.figures.reliability import seen_in
from calibrant.report.page import Page
from calibrant.report.style import BEFORE_AFTER, Drawable, drawn, show_number, show_share
from calibrant.report.watch_page import HEAD, HOW_TO_READ

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.report.recalibration_page import RecalibrationReport

Panel: TypeAlias = Callable[["RecalibrationReport", Page], None]

#: Name, attribute of `Measured`, what it is.
MEASURE_ROWS = (
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
ALARMS = (
    "A monitor that may be looked at every round: while the chance of the event, given what was "
    "known when it was predicted, is within 0.02 of the prediction, it rings falsely at most once "
    "in 1,000,000 rounds. Of drawn probabilities the mean is watched."
)
EPISODES_ON_PAGE = 20
GROUPS_ON_PAGE = 40
#: So many weights are shown, if they are not next to nothing.
WEIGHTS_ON_PAGE, LEAST_WEIGHT = 5, 0.005
#: Groups whose maps are drawn: more lines could not be told apart.
GROUPS_IN_MAP = 4
#: More windows than this would be a hatching; fewer than the second say nothing of time.
MOST_WINDOWS, FEWEST_WINDOWS = 150, 4
WIDE, NARROW = (7.6, 3.3), (3.7, 3.5)


def measures_panel(report: RecalibrationReport, page: Page) -> None:
    """Every measure before and after."""
    both = report.measures
    distinct = ", ".join(
        f"{column.distinct:,} {name}" for name, column in reversed(both.columns.items())
    )
    page.section("Before and after", READING)
    page.table(
        ["", *both.columns, "what it is"],
        measure_rows(both),
        f"The {both.rounds:,} rounds with an outcome. Different probabilities: {distinct}.",
    )


def reliability_panel(report: RecalibrationReport, page: Page) -> None:
    """What was said against what happened, each column by itself."""
    both = report.measures
    bins = (
        "Most probabilities here are alike, so each point stands for a tenth of the rounds, and "
        "the axes give the odds equal room; a point at the foot never happened."
        if both.is_crowded
        else "The strip below counts the rounds."
    )
    page.section(
        "Of what was said, how much happened",
        "Points on the diagonal are calibrated: of what was called 70 %, 70 % happened. Below it, "
        "too much was said; above it, too little. Bars are 95 % intervals that take rounds as "
        f"independent. {bins}",
    )
    ends = logit_ends(seen_in(both.reliability.values())) if both.is_crowded else None
    figures: dict[str, Drawable | Figure] = {}
    told = []
    for name, table in both.reliability.items():
        used, off = int((table.count > 0).sum()), int(table.off.sum())
        told.append(f"{name}, {off} of {used} lie off the diagonal by more than chance explains")
        diagram = ReliabilityDiagram({name: table}, ends, BEFORE_AFTER)
        figures[f"Reliability: {told[-1]}."] = drawn(diagram, 4.2, 5.5 if ends is None else 4.3)
    page.figures(figures, f"Of the points, {'; '.join(told)}.")


def time_panel(report: RecalibrationReport, page: Page) -> None:
    """The means and the error, window by window."""
    both = report.measures
    window = shown_window(both.rounds, both.window)
    if window is None:
        return
    times = report.timeline.moments
    means = MeanThroughTime.from_several(
        report.predictions, report.outcomes, window=window, times=times, looks=BEFORE_AFTER,
        dispersion=report.dispersion,
    )  # fmt: skip
    last = list(means.said)[-1]
    outside = np.abs(means.happened - means.said[last]) > means.chance
    page.section(
        "Through time",
        f"Each {window:,} rounds by themselves. A pooled error can hide that a model says too much "
        "in one season and too little in the next; this cannot. The band is what chance explains: "
        "were the calibrated probabilities true, what happened would lie inside in 95 of 100 "
        "stretches."
        + (
            " Predictions that waited for their outcomes together may share a shock: their "
            f"residuals vary {report.dispersion:.2g} times as much as those of independent "
            "outcomes, and the band allows for it."
            if report.dispersion > 1.0
            else ""
        ),
    )
    page.figure(
        drawn(means, *WIDE),
        f"What was said in the mean, and what happened. In {int(outside.sum()):,} of "
        f"{len(outside):,} stretches the mean outcome lies outside the band; chance alone would "
        f"put about {0.05 * len(outside):.0f} there.",
        f"Mean prediction and mean outcome through time; {int(outside.sum())} of {len(outside)} "
        "outside the band.",
        narrow=drawn(means, *NARROW),
    )
    errors = ErrorThroughTime.from_several(
        report.predictions, report.outcomes, measure="ece", window=window, chance_of=last,
        times=times, looks=BEFORE_AFTER, dispersion=report.dispersion,
    )  # fmt: skip
    assert errors.chance is not None
    worst = []
    for name, curve in errors.curves.items():
        at = int(np.nanargmax(curve.error))
        start = report.timeline.name(max(int(curve.rounds[at]) - window, 0))
        worst.append(f"{name} is at worst {show_share(curve.error[at])} off, from {start}")
    above = int((errors.curves[last].error > errors.chance).sum())
    page.figure(
        drawn(errors, *WIDE),
        f"How far what was said is off what happened (ECE): {'; '.join(worst)}. The calibrated "
        f"probabilities are above the band in {above:,} of {len(errors.chance):,} stretches. No "
        "error is 0, because chance alone leaves something in so few rounds.",
        f"ECE through time: {'; '.join(worst)}.",
        narrow=drawn(errors, *NARROW),
    )


def episodes_panel(report: RecalibrationReport, page: Page) -> None:
    """The alarms of a monitor, before and after."""
    notes = [ALARMS, report.alarms_note, HOW_TO_READ]
    page.section("Alarms", " ".join(note for note in notes if note))
    rows = []
    for name, watched in report.watched.items():
        watched.draw_evidence(page, f"{name.capitalize()}: {watched.sentence}")
        rows += [[name, *row] for row in watched.rows()[-EPISODES_ON_PAGE:]]
    if rows:
        page.table(
            ["", *HEAD],
            rows,
            f"The episodes, of each the last {EPISODES_ON_PAGE}. Off by: what happened less what "
            "was said, so above 0 too little was said.",
        )


def map_panel(report: RecalibrationReport, page: Page) -> None:
    """What each score would become now."""
    if report.recalibrator is None:
        return
    both = report.measures
    groups = [part.group for part in both.groups[:GROUPS_IN_MAP]]
    is_probability = report.kind == "probability"
    now = ScoreMap.from_recalibrator(
        report.recalibrator, report.scores, groups=groups, is_probability=is_probability,
        scale="logit" if is_probability and both.is_crowded else "linear",
    )  # fmt: skip
    low, high = now.middle
    spoken = []
    for name, values in now.maps.items():
        became = np.interp([low, high], now.scores, values)
        spoken.append(f"{name}, {show_share(became[0])} and {show_share(became[1])}")
    page.section(
        "From score to probability, now",
        "What each score would become after the last round."
        + (
            " On the dashed line a score is left as it is; above it the recalibrator raises it, "
            "because the model says too little, and below it lowers it."
            if is_probability
            else ""
        )
        + " The shade holds nine scores in ten: outside it the map rests on few rounds."
        + (
            f" The {len(groups)} largest groups are drawn, each with its own map."
            if len(both.groups) > len(groups)
            else ""
        ),
    )
    page.figures(
        {f"The map from score to probability: {'; '.join(spoken)}.": drawn(now, 4.4, 4.6)},
        f"The scores {show_share(low)} and {show_share(high)}, between which nine in ten lie, "
        f"would become: {'; '.join(spoken)}.",
    )


def weights_panel(report: RecalibrationReport, page: Page) -> None:
    """What the probabilities rest on now."""
    if not isinstance(report.recalibrator, Recalibrator):
        return
    weights = report.recalibrator.weights()
    shown = [each for each in weights[:WEIGHTS_ON_PAGE] if each.weight >= LEAST_WEIGHT]
    page.section(
        "What the probabilities rest on, now",
        "Many recalibrations run side by side, and each weighs as much as the outcomes so far "
        "speak for it. A fixed correction forgets nothing, a drift does; the last outcomes weigh "
        "where one outcome says something about the next.",
    )
    page.table(
        ["", "weight"],
        [[each.words, f"{each.weight:.0%}"] for each in shown],
        f"After the last outcome: mostly {shown[0].words}."
        + (" Groups have weights of their own." if report.measures.groups else ""),
    )


def groups_panel(report: RecalibrationReport, page: Page) -> None:
    """Each group by itself."""
    both = report.measures
    if not both.groups:
        return
    head, rows = group_rows(both, GROUPS_ON_PAGE)
    rest = len(both.groups) - len(rows)
    page.section(
        "By group",
        "Each group by itself, the largest first. In a group with few rounds, errors are mostly "
        "chance." + (f" The {rest:,} smallest groups are not shown." if rest else ""),
    )
    caption = "Brier score and ECE (20 bins) by group."
    if both.raw is not None:
        fell = sum(
            part.raw is not None and part.calibrated.brier < part.raw.brier for part in both.groups
        )
        caption += f" The Brier score is lower than before in {fell} of {len(both.groups)}."
    page.table(head, rows, caption)


def made_panel(report: RecalibrationReport, page: Page) -> None:
    """How the probabilities were made."""
    page.section("How this was made")
    made = {**report.made, "calibrant": __version__, "numpy": np.__version__}
    page.table(["", "this run"], list(made.items()), "With the same input, the same page.")


PANELS: tuple[Panel, ...] = (
    measures_panel,
    reliability_panel,
    time_panel,
    episodes_panel,
    map_panel,
    weights_panel,
    groups_panel,
    made_panel,
)


def shown_window(rounds: int, window: int) -> int | None:
    """Return the rounds of a stretch in figures of time; None where there are too few rounds.

    Examples
    --------
    >>> [shown_window(rounds, 1000) for rounds in (30, 600, 5_000, 2_000_000)]
    [None, 60, 1000, 14000]
    """
    if rounds < FEWEST_WINDOWS * window:
        window = max(rounds // 10, 25)
    window *= -(-rounds // (MOST_WINDOWS * window))
    return window if rounds >= FEWEST_WINDOWS * window else None


def measure_rows(both: BeforeAfter) -> list[list[str]]:
    """Return a row a measure: its name, its values (raw first, where there is one), what it is."""
    columns = both.columns.values()
    rows = [
        [title, *[show_number(getattr(column, name), fine=True) for column in columns], meaning]
        for title, name, meaning in MEASURE_ROWS
    ]
    if both.calibrated.worst is not None:
        worst = [
            show_number(column.worst.ece, fine=True)
            for column in columns
            if column.worst is not None
        ]
        rows.append([f"worst {both.window:,} rounds", *worst, "ECE of the worst window"])
    return rows


def group_rows(both: BeforeAfter, most: int) -> tuple[list[str], list[list[str]]]:
    """Return the head of a table of groups, and a row for each of the largest ones."""
    head, rows = ["group", "rounds"], []
    for title in ("Brier", "ECE"):
        head += [title] if both.raw is None else [f"{title} raw", f"{title} calibrated"]
    for part in both.groups[:most]:
        values = [part.calibrated.brier, part.calibrated.ece]
        if part.raw is not None:
            values = [part.raw.brier, values[0], part.raw.ece, values[1]]
        digits = [show_number(value, fine=True) for value in values]
        rows.append([str(part.group), show_number(part.rounds), *digits])
    return head, rows
