"""The report about one recalibration: what changed, when, for whom, and how it was made."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant import __version__
from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    as_series,
    as_unit_series,
    check_choice,
    check_id,
    check_same_length,
)
from calibrant._kernels.recalibrate import KINDS
from calibrant.report.before_after import WINDOW, BeforeAfter
from calibrant.report.figures import ErrorThroughTime, ReliabilityDiagram
from calibrant.report.page import Page
from calibrant.report.style import show_number, styled

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
GROUPS_ON_PAGE = 40


def recalibration(
    scores: npt.ArrayLike,
    calibrated: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    times: npt.ArrayLike | Callable[[int], object] | None = None,
    by: Sequence[Id] | npt.ArrayLike | None = None,
    kind: str = "probability",
    title: str = "Scores before and after recalibration",
    never: int | None = None,
    made: Mapping[str, str] | None = None,
    window: int = WINDOW,
) -> RecalibrationReport:
    """Report what a recalibration changed: measures, sentences, and a page that shows them.

    In a notebook, the result shows itself as the page.

    Parameters
    ----------
    scores : array_like of shape (T,)
        What the model said.
    calibrated : array_like of shape (T,)
        What was made of it, in [0, 1].
    outcomes : array_like of shape (T,)
        What happened, in [0, 1]; NaN where it is not known. Such rounds are counted and left out.
    times : array_like of shape (T,) or callable, optional
        What sentences call the rounds: numbers, dates or text, or a function of the position.
    by : array_like of shape (T,), optional
        The group of each round, text or integers.
    kind : {"probability", "logit", "margin"}
        What the scores are. Margins are no probabilities: they have no before.
    title : str
        The heading of the page.
    never : int, optional
        Outcomes that were never learned; those that are not known, if not given.
    made : mapping of str to str, optional
        How the probabilities were made, for the end of the page.
    window : int
        Rounds of a window, of which the worst is shown.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.report import recalibration
    >>> from calibrant.streams import load
    >>> nba = load("nba538")
    >>> calibrated = Recalibrator().run(nba.scores, nba.outcomes)
    >>> report = recalibration(nba.scores, calibrated, nba.outcomes)
    >>> print(report.findings[0])
    The probabilities became better: the Brier score fell from 0.2147 to 0.2124, ...
    >>> report.html().startswith("<!doctype html>")
    True
    """
    check_choice("kind", kind, KINDS)
    happened = as_series(outcomes, "outcomes").astype(np.float64)
    known = np.flatnonzero(~np.isnan(happened))
    if len(known) == 0:
        raise ValueError(f"outcomes must hold one that is known, got none in {len(happened)}")
    happened[np.isnan(happened)] = 0.0  # so that a bad one is named by its own position
    happened = as_unit_series(happened, "outcomes")
    after = as_unit_series(calibrated, "calibrated")
    if kind == "probability":
        said = as_unit_series(scores, "scores")
    else:
        said = as_series(scores, "scores").astype(np.float64)
        if not np.isfinite(said).all():
            at = int(np.isfinite(said).argmin())
            raise ValueError(f"scores must be finite, got {float(said[at])!r} at position {at}")
    check_same_length("scores", len(said), "outcomes", len(happened))
    check_same_length("calibrated", len(after), "outcomes", len(happened))
    groups = None
    if by is not None:
        groups = as_listed(by, "by", "the group of each round")
        check_same_length("by", len(groups), "outcomes", len(happened))
        groups = [check_id(groups[row], f"by at position {row}") for row in known]
    moments: list[object] = []
    if times is not None and not callable(times):
        # Listed by `tolist`, NumPy's times would be integers.
        listed = list(times) if isinstance(times, np.ndarray) else times
        moments = as_listed(listed, "times", "the time of each round")
        check_same_length("times", len(moments), "outcomes", len(happened))

    def place(at: int) -> str:
        row = int(known[at])
        if times is None:
            return f"round {row + 1:,}"
        return str(times(row) if callable(times) else moments[row])

    before, after, happened = as_probabilities(said[known], kind), after[known], happened[known]
    measures = BeforeAfter.from_predictions(before, after, happened, groups=groups, window=window)
    never = len(said) - len(known) if never is None else never
    findings = measures.findings(never=never, place=place)
    predictions = {"calibrated": after}
    if before is not None:
        predictions = {"raw": before, **predictions}
    made = {"scores are": kind} if made is None else dict(made)
    return RecalibrationReport(title, measures, findings, made, predictions, happened)


@dataclass(frozen=True, eq=False)
class RecalibrationReport:
    """What a recalibration changed, as `recalibration` finds it.

    Attributes
    ----------
    title : str
        The heading of the page.
    measures : BeforeAfter
        The measures before and after, of all rounds and of each group.
    findings : list of str
        What to look at and what it means, most important first.
    made : dict of str to str
        How the probabilities were made.
    predictions : dict of str to array
        The rounds whose outcomes are known: "raw", where scores are probabilities, "calibrated".
    outcomes : array of float
        What happened in these rounds.

    Examples
    --------
    >>> from calibrant.report import recalibration
    >>> report = recalibration([0.9, 0.9, 0.9], [0.6, 0.4, 0.5], [1, 0, float("nan")])
    >>> report.measures.rounds, round(report.measures.calibrated.brier, 2)
    (2, 0.16)
    >>> report.findings[-1]
    '1 outcome never arrived: those rows have a probability, but nothing was learned from them.'
    """

    title: str
    measures: BeforeAfter
    findings: list[str]
    made: dict[str, str]
    predictions: dict[str, Floats]
    outcomes: Floats

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        both, names = self.measures, list(self.predictions)
        page = Page(
            self.title,
            [f"{both.rounds:,} rounds with an outcome, which was {both.mean_outcome:.3f} in the "
             "mean. What to look at, and what it means:", *self.findings],
        )  # fmt: skip
        page.section("Before and after", READING)
        page.table(["", *names, "what it is"], measure_rows(both), "All rounds with an outcome.")
        page.section(
            "Of what was said, how much happened",
            "Points on the diagonal are calibrated: of what was called 70 %, 70 % happened. Below "
            "it, too much was said; above it, too little. Bars are 95 % intervals that take rounds "
            "as independent; the strip below counts the rounds.",
        )
        bins_off = [
            f"{name}, {column.bins_off} of {column.bins_used} bins lie off the diagonal"
            for name, column in both.columns.items()
        ]
        with styled():
            from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

            figure = Figure(figsize=(4.6 * len(names), 6.0), layout="constrained")
            axes = figure.subplots(1, len(names), squeeze=False)[0]
            for ax, (name, column) in zip(axes, both.columns.items(), strict=True):
                diagram = ReliabilityDiagram({name: column.reliability})
                diagram.plot(ax).set_anchor("N")  # what room is left belongs to the strip below
        page.figure(
            figure,
            "Reliability before and after." if both.raw is not None else "Reliability.",
            f"Reliability: {'; '.join(bins_off)}.",
        )
        if both.calibrated.worst is not None:
            page.section(
                "Through time",
                f"The ECE of each {both.window:,} rounds by itself. A pooled error can hide that a "
                "model says too much in one season and too little in the next; this cannot. It "
                "never reaches 0: chance alone leaves a few hundredths in so few rounds.",
            )
            worst = [
                f"at worst {column.worst.ece:.3f} {name}"
                for name, column in both.columns.items()
                if column.worst is not None
            ]
            page.figure(
                ErrorThroughTime.from_several(
                    self.predictions, self.outcomes, measure="ece", window=both.window
                ),
                f"ECE of each {both.window:,} rounds.",
                f"ECE through time; {', '.join(worst)}.",
            )
        if both.groups:
            head, rows = group_rows(both, GROUPS_ON_PAGE)
            rest = len(both.groups) - len(rows)
            page.section(
                "By group",
                "Each group by itself, the largest first. In a group with few rounds, errors are "
                "mostly chance."
                + (f" The {rest:,} smallest groups are not shown." if rest else ""),
            )
            page.table(head, rows, "Brier score and ECE (20 bins) by group.")
        page.section("How this was made")
        made = {**self.made, "calibrant": __version__, "numpy": np.__version__}
        page.table(["", "this run"], list(made.items()), "The run.")
        return page

    def html(self) -> str:
        """Return the whole page."""
        return self.page.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        self.page.save(path)

    def _repr_html_(self) -> str:
        # In a frame, because the page's style must not reach the notebook around it.
        page = html.escape(self.html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 45em; border: 0"></iframe>'


def as_probabilities(scores: Floats, kind: str) -> Floats | None:
    """Return the probabilities that scores stand for; None for margins, of unknown unit."""
    if kind == "logit":
        return np.exp(-np.logaddexp(0.0, -scores))
    return scores if kind == "probability" else None


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
    distinct = [show_number(column.distinct) for column in columns]
    return [*rows, ["distinct", *distinct, "different probabilities"]]


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
