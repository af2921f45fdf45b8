"""The page of a forecast: how good it was, what it drew on, and predicted against observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, as_series, check_same_length
from calibrant.forecasters.memories import Memory
from calibrant.measures import Scorecard
from calibrant.report.figures.mean_through_time import MeanThroughTime
from calibrant.report.figures.memory_through_time import MemoryThroughTime
from calibrant.report.page import Page, Report
from calibrant.report.style import SERIES, show_number
from calibrant.report.timeline import Timeline, Times

#: Windows that the figure through time has, about.
WINDOWS = 80
HEAVIEST = 3
MEASURES = (
    ("Brier score", "brier"), ("log loss", "log_loss"), ("ECE, 20 bins", "ece"),
    ("Cal2, sum", "cal2"), ("Cal1, sum", "cal1"),
)  # fmt: skip


def forecasting(
    predictions: Mapping[str, npt.ArrayLike],
    outcomes: npt.ArrayLike,
    *,
    memories: Sequence[tuple[int, Sequence[Memory]]] = (),
    times: Times = None,
    title: str = "What was forecast, and what was observed",
    made: Mapping[str, str] | None = None,
) -> ForecastReport:
    """Report how good forecasts of events were, beside others of the same events.

    Parameters
    ----------
    predictions : mapping of str to array_like of shape (T,)
        What each forecaster predicted, by its name; the first is the one that is reported.
    outcomes : array_like of shape (T,)
        What was observed, in [0, 1]; NaN where it is not known. Such rounds are left out.
    memories : sequence of (rounds, memories), optional
        What `EventForecaster.memory` returned after so many rounds.
    times : array_like of shape (T,) or callable, optional
        When the rounds were: dates, numbers or text, or a function of the position.
    title : str
        The heading of the page.
    made : mapping of str to str, optional
        How the forecasts were made, for the end of the page.

    Examples
    --------
    >>> from calibrant import EventForecaster, Zoom
    >>> from calibrant.report import forecasting
    >>> from calibrant.streams import markov
    >>> outcomes = markov(3000, order=2, seed=1).outcomes
    >>> report = forecasting(
    ...     {"event-forecaster": EventForecaster().run(outcomes), "zoom": Zoom().run(outcomes)},
    ...     outcomes)
    >>> print(report.findings[0])
    Log loss ... against ... of zoom, the best of the others: sharper by ...
    >>> report.html().startswith("<!doctype html>")
    True
    """
    if not predictions:
        raise ValueError("predictions must name at least one forecaster, got none")
    observed = np.array(as_series(outcomes, "outcomes"), dtype=np.float64)
    has = ~np.isnan(observed)
    said = {}
    for name, values in predictions.items():
        series = as_series(values, "predictions")
        check_same_length("predictions", len(series), "outcomes", len(observed))
        said[name], _ = as_rounds(np.asarray(series)[has], observed[has], mean=True)
    timeline = Timeline.from_times(times, np.flatnonzero(has), len(observed))
    looks = [(max(1, int(has[:rounds].sum())), seen) for rounds, seen in memories]
    return ForecastReport(title, said, observed[has], looks, timeline, dict(made or {}))


@dataclass(frozen=True, eq=False)
class ForecastReport(Report):
    """How good forecasts of events were, as `forecasting` returns it.

    Attributes
    ----------
    title : str
        The heading of the page.
    predictions : dict of str to array
        What each forecaster predicted; the first is the one that is reported.
    outcomes : array of float
        What was observed.
    memories : list of (rounds, memories)
        What the first one drew on, after so many rounds.
    timeline : Timeline
        When the rounds were.
    made : dict of str to str
        How the forecasts were made.

    Examples
    --------
    >>> from calibrant.report import forecasting
    >>> report = forecasting({"a coin": [0.5] * 4}, [1, 0, 1, 0])
    >>> report.cards["a coin"].brier
    0.25
    """

    title: str
    predictions: dict[str, Floats]
    outcomes: Floats
    memories: list[tuple[int, Sequence[Memory]]]
    timeline: Timeline
    made: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The name of the forecaster that is reported."""
        return next(iter(self.predictions))

    @cached_property
    def cards(self) -> dict[str, Scorecard]:
        """The measures of each forecaster."""
        cards = {name: Scorecard() for name in self.predictions}
        for name, card in cards.items():
            card.extend(self.predictions[name], self.outcomes)
        return cards

    @cached_property
    def findings(self) -> list[str]:
        """What the numbers say, in sentences."""
        own, said = self.cards[self.own], []
        others = {name: card for name, card in self.cards.items() if name != self.own}
        if others:
            best = min(others, key=lambda name: others[name].log_loss)
            less = others[best].log_loss - own.log_loss
            said.append(
                f"Log loss {show_number(own.log_loss, fine=True)} against "
                f"{show_number(others[best].log_loss, fine=True)} of {best}, the best of the "
                f"others: {'sharper' if less >= 0.0 else 'blunter'} by "
                f"{show_number(abs(less), fine=True)}."
            )
        table = own.reliability(bins=20)
        off, used = int(table.miscalibrated.sum()), int((table.count > 0).sum())
        said.append(
            f"Of {used} bins of predictions, {off or 'none'} lie"
            f"{'s' if off == 1 else ''} outside a {table.level:.0%} interval; Cal2, exact, is "
            f"{show_number(own.cal2)}."
        )
        if self.memories:
            shares = MemoryThroughTime.from_looks(self.memories).shares
            family, share = next(iter(shares.items()))
            said.append(f"The forecasts drew most on {family}: {share.mean():.0%} on average.")
        return said

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        page = Page(
            self.title,
            [f"{len(self.outcomes):,} rounds, of which {self.outcomes.mean():.1%} were events. "
             "Each probability was made before its outcome was used.", *self.findings],
        )  # fmt: skip
        if self.memories:
            self._memories(page)
        self._through_time(page)
        self._reliability(page)
        rows = [
            [title, *(show_number(getattr(card, name), fine=True) for card in self.cards.values())]
            for title, name in MEASURES
        ]
        page.section(
            "In numbers",
            "Lower is better. Brier score and log loss ask for sharp and calibrated forecasts, "
            "ECE and Cal2 for calibration alone. Cal2 makes sense for predictions that repeat.",
        )
        page.table(["", *self.cards], rows, f"All {len(self.outcomes):,} rounds.")
        page.made(self.made)
        return page

    def _memories(self, page: Page) -> None:
        figure = MemoryThroughTime.from_looks(self.memories, times=self.timeline.moments)
        page.section(
            "What the forecasts drew on",
            "The forecaster keeps many memories and weighs each by how well it forecast lately. A "
            "line is the share of one sort of them in the forecasts. Where a line rises and "
            "another falls, the stream began to behave in another way.",
        )
        heaviest = next(iter(figure.shares))
        last = [f"{each.words} ({each.weight:.0%})" for each in self.memories[-1][1][:HEAVIEST]]
        page.wide_figure(
            figure,
            f"Sorts of memories through time. The heaviest single ones at the end: "
            f"{', '.join(last)}.",
            f"Shares of the sorts of memories through time; the heaviest is {heaviest}.",
        )

    def _through_time(self, page: Page) -> None:
        window = max(20, len(self.outcomes) // WINDOWS)
        figure = MeanThroughTime.from_several(
            {self.own: self.predictions[self.own]}, self.outcomes, window=window,
            times=self.timeline.moments, looks={self.own: SERIES[0]},
        )  # fmt: skip
        page.section(
            "Through time",
            "If the forecasts are calibrated, the mean outcome stays inside the shaded band in 95 "
            "of 100 windows.",
        )
        page.wide_figure(
            figure,
            f"Means of each {window:,} rounds.",
            "Mean prediction and mean outcome through time.",
        )

    def _reliability(self, page: Page) -> None:
        names = list(self.cards)[:2]
        page.reliability(
            {name: self.cards[name].reliability(bins=20) for name in names},
            "The bars below count the rounds of each prediction: the farther apart, the sharper.",
            looks=dict(zip(names, SERIES, strict=False)),
        )
