"""The report about one recalibration: what changed, when, for whom, and how it was made."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

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
from calibrant._kernels.scores.recalibrate import KINDS
from calibrant.measures import DelayCheck
from calibrant.monitor import Monitor
from calibrant.recalibrate.log import as_probabilities
from calibrant.report.before_after import WINDOW, BeforeAfter
from calibrant.report.causes import Evidence, explain, waits_of
from calibrant.report.chance import dispersion_of
from calibrant.report.figures.score_map import HasMap
from calibrant.report.page import Page
from calibrant.report.recalibration_panels import PANELS
from calibrant.report.style import show_number
from calibrant.report.timeline import Timeline, Times, as_clock
from calibrant.report.verdict import Verdict
from calibrant.report.watch_page import JUDGED_BY, WatchReport, watch_rounds
from calibrant.tables import Clock


def recalibration(
    scores: npt.ArrayLike,
    calibrated: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    times: Times = None,
    available: npt.ArrayLike | Clock | None = None,
    delays: DelayCheck | None = None,
    by: Sequence[Id] | npt.ArrayLike | None = None,
    kind: str = "probability",
    title: str = "Scores before and after recalibration",
    never: int | None = None,
    made: Mapping[str, str] | None = None,
    window: int = WINDOW,
    recalibrator: HasMap | None = None,
    expected: npt.ArrayLike | None = None,
    known: npt.ArrayLike | None = None,
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
        When the rounds were: dates, numbers or text, or a function of the position. Dates and
        numbers stand on the axes of time too.
    available : array_like of shape (T,), optional
        When each outcome became known, by the clock of `times`, missing for never: such rounds are
        left out too. Then the report can say whether outcomes came too late.
    delays : DelayCheck, optional
        Whether delays depend on the outcome: if they do, the verdict turns. Made from `available`
        if not given, unless the `recalibrator` has `silence` or `hold`, which cure it.
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
    recalibrator : Recalibrator, optional
        The one that made `calibrated`: the page then shows what each score would become now.
    expected : array_like of shape (T,), optional
        The mean of what might have been predicted, in [0, 1]: a monitor watches it in place of
        `calibrated`, which is drawn from a grid.
    known : array_like of shape (T,), optional
        When each outcome counted, in seconds or numbers by the clock of `times`, or in rounds
        without one: by these a monitor judges what was known when a prediction was made. Those of
        `available`, if not given.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.report import recalibration
    >>> from calibrant.streams import load
    >>> nba = load("nba538")
    >>> calibrated = Recalibrator().run(nba.scores, nba.outcomes)
    >>> report = recalibration(nba.scores, calibrated, nba.outcomes)
    >>> report.verdict.word
    'better'
    >>> print(report.verdict.size)
    The probabilities became better: the Brier score fell from 0.2147 to 0.2124, ...
    >>> report.html().startswith("<!doctype html>")
    True
    """
    check_choice("kind", kind, KINDS)
    happened = as_series(outcomes, "outcomes").astype(np.float64)
    timeline = Timeline.from_times(times, np.arange(len(happened)), len(happened))
    later = None
    if available is not None:
        later = as_clock(available, timeline.clock, len(happened))
        happened[np.isnan(later.ticks)] = np.nan
    since = None if later is None else later.ticks
    if known is not None:
        since = as_series(known, "known").astype(np.float64)
        check_same_length("known", len(since), "outcomes", len(happened))
    is_known = ~np.isnan(happened)
    rows = np.flatnonzero(is_known)
    timeline = replace(timeline, rows=rows)
    if len(rows) == 0:
        raise ValueError(f"outcomes must hold one that is known, got none in {len(happened)}")
    happened[~is_known] = 0.0  # so that a bad one is named by its own position
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
    means = after if expected is None else as_unit_series(expected, "expected")
    check_same_length("expected", len(means), "outcomes", len(happened))
    groups = None
    if by is not None:
        groups = as_listed(by, "by", "the group of each round")
        check_same_length("by", len(groups), "outcomes", len(happened))
        groups = [check_id(groups[row], f"by at position {row}") for row in rows]
    waits = None
    if later is not None and timeline.clock is not None:
        waits = waits_of(timeline.clock.ticks, later.ticks)[rows]
        if delays is None and not is_cured(recalibrator):
            delays = DelayCheck.from_times(
                np.where(is_known, happened, np.nan), timeline.clock.ticks, later.ticks,
                scores=said, is_time=timeline.has_dates,
            )  # fmt: skip
    before, after, happened = as_probabilities(said[rows], kind), after[rows], happened[rows]
    measures = BeforeAfter.from_predictions(before, after, happened, groups=groups, window=window)
    predictions = {"calibrated": after}
    if before is not None:
        predictions = {"raw": before, **predictions}
    verdict = explain(measures.verdict, Evidence(measures, predictions, happened, waits, delays))
    if never is None:
        never = len(said) - len(rows)
    _, *others = measures.findings(never=never, place=timeline.name)
    made = {"scores are": kind} if made is None else dict(made)
    return RecalibrationReport(
        title, verdict, measures, [*verdict.sentences, *others], made, predictions, happened,
        timeline, said, kind, recalibrator, means[rows], groups,
        None if since is None else since[rows],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecalibrationReport:
    """What a recalibration changed, as `recalibration` finds it.

    Attributes
    ----------
    title : str
        The heading of the page.
    verdict : Verdict
        Better, no different or worse, by how much, and the likely cause.
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
    timeline : Timeline
        When these rounds were.
    scores : array of float
        What the model said, in all rounds.
    kind : str
        What the scores are.
    recalibrator : Recalibrator or None
        The one that made the probabilities.
    expected : array of float
        In these rounds, the mean of what might have been predicted.
    groups : list or None
        The group of each of these rounds.
    known : array of float or None
        When these outcomes counted, by the clock of the timeline; None if before the next
        prediction.

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
    verdict: Verdict
    measures: BeforeAfter
    findings: list[str]
    made: dict[str, str]
    predictions: dict[str, Floats]
    outcomes: Floats
    timeline: Timeline
    scores: Floats
    kind: str
    recalibrator: HasMap | None
    expected: Floats
    groups: list[Id] | None
    known: Floats | None

    @property
    def alarms_note(self) -> str | None:
        """What predictions are judged by, where outcomes came late; else None."""
        return JUDGED_BY if any(each.is_late for each in self.watched.values()) else None

    @cached_property
    def watched(self) -> dict[str, WatchReport]:
        """What a monitor finds in the raw scores, where they are probabilities, and after.

        Each prediction is judged by what was known when it was made, with the tolerance and the
        guarantee that `Monitor` has by default.
        """
        of = {**self.predictions, "calibrated": self.expected}
        most = len(set(self.groups or ()))
        return {
            name: watch_rounds(
                p, self.outcomes, self.groups, self.timeline, Monitor(max_groups=most), name,
                self.known,
            )
            for name, p in of.items()
        }  # fmt: skip

    @cached_property
    def dispersion(self) -> float:
        """How many times as much residuals vary as if outcomes were independent."""
        if self.known is None:
            return 1.0
        waits = waits_of(self.timeline.ticks, self.known)
        return dispersion_of(self.predictions["calibrated"], self.outcomes, waits)

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        both = self.measures
        said_first = set(self.verdict.sentences)
        page = Page(
            self.title,
            [f"{both.rounds:,} rounds with an outcome, which was {show_number(both.mean_outcome)} "
             "in the mean. What to look at, and what it means:",
             *[finding for finding in self.findings if finding not in said_first]],
            self.verdict,
        )  # fmt: skip
        for panel in PANELS:
            panel(self, page)
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


def is_cured(recalibrator: object) -> bool:
    """Whether a recalibrator learned outcomes at their deadlines, and not as they came."""
    given = (getattr(recalibrator, name, None) for name in ("silence", "hold"))
    return any(each is not None for each in given)
