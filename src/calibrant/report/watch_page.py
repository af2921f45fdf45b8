"""The page of a monitor: what it found, its evidence through time, and its episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_rounds, as_series
from calibrant.measures import Scorecard
from calibrant.monitor import Episode, Monitor
from calibrant.monitor.monitor import Arrivals
from calibrant.report.figures.evidence_through_time import EvidenceThroughTime
from calibrant.report.page import Page, Report
from calibrant.report.style import SERIES
from calibrant.report.timeline import Timeline, Times, as_clock
from calibrant.tables import Clock

LOOKS = {"rounds outside of episodes": SERIES[0], "rounds inside of episodes": SERIES[1]}
#: Episodes in the table of the page; of more, the last.
MOST_SHOWN = 200
HOW_TO_READ = (
    "The evidence against calibration is drawn on a logarithmic axis. While predictions are "
    "calibrated it grows by at most 1 a round on average. At the dashed line the monitor raises an "
    "alarm; then it watches for the end."
)
HEAD = ["onset", "alarm", "recovered", "where", "bias", "95% interval"]
BIAS = "Bias: observed minus predicted; where it is positive, predictions were too low."
JUDGED_BY = (
    "Each prediction is judged by what was known when it was made: a shock shared by predictions "
    "that are pending together is not evidence against them."
)


def watching(
    predictions: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    by: Sequence[Id] | npt.NDArray[Any] | None = None,
    times: Times = None,
    available: npt.ArrayLike | Clock | None = None,
    due: npt.ArrayLike | Clock | None = None,
    silence: int | None = None,
    every: int = 1_000_000,
    tolerance: float = 0.02,
    title: str = "Is it still calibrated?",
) -> WatchReport:
    """Report what a monitor finds in predictions and their outcomes, with a page that shows it.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one round. With `silence`, NaN is an outcome not reported.
    by : array_like of shape (T,), optional
        The group of each round, text or integers.
    times : array_like of shape (T,), optional
        When the predictions were made: dates, numbers or text.
    available : array_like of shape (T,), optional
        When each outcome became known, by the clock of `times`; without it, before the next
        prediction was made. NaN: never, and its outcome may be NaN.
    due, silence : array_like of shape (T,) and {0, 1}, optional
        The deadline of each outcome, and what it is if none was known by then.
    every, tolerance
        Arguments of `Monitor`.
    title : str
        The heading of the page.

    Examples
    --------
    >>> from calibrant.report import watching
    >>> from calibrant.streams import load
    >>> nba = load("nba538")
    >>> report = watching(nba.scores, nba.outcomes)
    >>> print(report.episodes[0])
    Since round ..., predictions ... have been too ...
    >>> report.html().startswith("<!doctype html>")
    True
    """
    rounds = len(as_series(outcomes, "outcomes"))
    timeline = Timeline.from_times(times, np.arange(rounds), rounds)
    known, made = None, np.empty(0) if timeline.clock is None else timeline.clock.ticks
    if available is not None:
        known = as_clock(available, timeline.clock, rounds).ticks
    if (due is None) != (silence is None):
        raise ValueError("due and silence belong together: what is the outcome at the deadline?")
    if due is not None:
        if silence not in (0, 1):
            raise ValueError(f"silence must be 0 or 1, got {silence!r}")
        dues = as_clock(due, timeline.clock, rounds, "due").ticks
        outcomes, known = with_silence(outcomes, made, known, dues, float(silence or 0))
    never = np.zeros(rounds, dtype=np.bool_)
    if known is not None:
        never = np.isnan(known) | np.isnan(as_series(outcomes, "outcomes").astype(np.float64))
        known = np.where(never, np.nan, known)
    p, y = as_rounds(predictions, np.where(never, 0.0, outcomes), mean=True)
    y = np.where(never, np.nan, y)
    arrivals = None if known is None else Arrivals.at(made, known)
    monitor = Monitor(every, tolerance=tolerance)
    return watch_rounds(p, y, by, timeline, monitor, title, arrivals)


def with_silence(
    outcomes: npt.ArrayLike, made: Floats, known: Floats | None, due: Floats, silence: float
) -> tuple[Floats, Floats]:
    """Return outcomes and when they are known, where silence at the deadline is one."""
    y = as_series(outcomes, "outcomes").astype(np.float64)
    arrived = np.where(np.isnan(y), np.nan, made if known is None else known)
    is_heard = arrived <= due
    return np.where(is_heard, y, silence), np.where(is_heard, arrived, due)


def watch_rounds(
    p: Floats,
    y: Floats,
    by: Sequence[Id] | npt.NDArray[Any] | None,
    timeline: Timeline,
    monitor: Monitor,
    title: str,
    arrivals: Arrivals | None = None,
) -> WatchReport:
    """Let a new monitor watch rounds, and return what it found.

    `arrivals` say when outcomes became known; without them, each before the next prediction.
    """
    is_late = arrivals is not None and bool(
        (arrivals.after[arrivals.order] > arrivals.order + 1).any()
    )
    trace = np.empty(len(p))
    episodes = monitor.run(p, y, by, available=arrivals, evidence=trace)
    if timeline.clock is not None or timeline.call is not None:
        name, last = timeline.name, len(p) - 1
        episodes = [
            replace(
                each, onset_at=name(min(each.onset, last)), alarm_at=name(min(each.alarm, last)),
                end_at=None if each.end is None else name(min(each.end, last)),
                recovered_at=None if each.recovered is None else name(min(each.recovered, last)),
            )
            for each in episodes
        ]  # fmt: skip
    return WatchReport(title, monitor, episodes, trace, p, y, timeline, is_late)


@dataclass(frozen=True, eq=False)
class WatchReport(Report):
    """What a monitor found, as `watching` returns it.

    Attributes
    ----------
    title : str
        The heading of the page.
    monitor : Monitor
        The monitor after the last round.
    episodes : list of Episode
        The episodes, the oldest first, with their times where these are known.
    trace : array of float
        The evidence after each round, as a share of what rings.
    predictions, outcomes : array of float
        What was watched; NaN is an outcome that never became known.
    timeline : Timeline
        When the rounds were.
    is_late : bool
        Whether some outcome became known only after the next prediction.

    Examples
    --------
    >>> from calibrant.report import watching
    >>> report = watching([0.5] * 200, [1, 0] * 100)
    >>> print(report.sentence)
    No alarm in 200 rounds: outcomes agree with predictions, ...
    """

    title: str
    monitor: Monitor
    episodes: list[Episode]
    trace: Floats
    predictions: Floats
    outcomes: Floats
    timeline: Timeline
    is_late: bool = False

    @property
    def sentence(self) -> str:
        """What was found, in one sentence, and how likely a false alarm was."""
        rounds, found, monitor = len(self.predictions), len(self.episodes), self.monitor
        bound = rounds / monitor.every if monitor.alpha is None else monitor.alpha
        chance = f"Probability of any false alarm in this run: at most {100 * bound:.2g}%."
        if bound >= 1:
            several = f"at most {bound:.2g} false alarms are to be expected in so many rounds"
            chance = f"Were all predictions calibrated, {several}."
        if not found and self.is_late:
            return (
                f"No alarm in {rounds:,} rounds: nothing that was known when they were predicted "
                f"was evidence against the predictions. {chance}"
            )
        if not found:
            return (
                f"No alarm in {rounds:,} rounds: outcomes agree with predictions, as far as "
                f"{rounds:,} rounds can tell. {chance}"
            )
        last = self.episodes[-1]
        off = f"{last.where} {{}} {last.direction} by {abs(last.bias):.2g}"
        off += f" (alarm {self.when(last.alarm)})"
        if last.recovered is None:
            told = f"since {self.when(last.onset)}, {off.format('have been')}"
        else:
            told = f"from {self.when(last.onset)} to about {self.when(last.recovered)}, "
            told += off.format("were")
        if found == 1:
            return f"1 episode in {rounds:,} rounds: {told}. {chance}"
        share = self.inside.mean()
        return (
            f"{found:,} episodes in {rounds:,} rounds, {share:.0%} of the time. The last: {told}. "
            f"{chance}"
        )

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Which rounds lie inside of an episode, from its onset to its recovery."""
        inside = np.zeros(len(self.predictions), dtype=np.bool_)
        for each in self.episodes:
            inside[each.onset : len(inside) if each.recovered is None else each.recovered] = True
        return inside

    def rows(self) -> list[list[str]]:
        """Return the episodes as lines of a table, below `HEAD`."""
        return [
            [
                self.when(each.onset), self.when(each.alarm),
                "lasts" if each.recovered is None else self.when(each.recovered), place_of(each),
                f"{each.bias:+.3f}", f"{each.bias_low:+.3f} to {each.bias_high:+.3f}",
            ]
            for each in self.episodes
        ]  # fmt: skip

    def when(self, round_: int) -> str:
        """Return what to call a round: its time, or its number."""
        if self.timeline.clock is None and self.timeline.call is None:
            return f"{round_:,}"
        return self.timeline.name(min(round_, len(self.predictions) - 1))

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        every, tolerance = self.monitor.every, self.monitor.tolerance
        page = Page(
            self.title,
            [f"{self.sentence} Rounds whose probability was within {tolerance:g} of the "
             "prediction count as calibrated; were all of them, a false alarm would come at most "
             f"once in {every:,} rounds, however often one looks."
             f"{' ' + JUDGED_BY if self.is_late else ''}",
             *(str(each) for each in self.episodes[-3:])],
        )  # fmt: skip
        self._through_time(page)
        self._reliability(page)
        if self.episodes:
            self._table(page)
        return page

    def _through_time(self, page: Page) -> None:
        page.section("The evidence through time", HOW_TO_READ)
        self.draw_evidence(
            page,
            f"Episodes are shaded from their onset to their end: {len(self.episodes)} of them.",
        )

    def draw_evidence(self, page: Page, caption: str) -> None:
        """Add the evidence through time to a page."""
        figure = EvidenceThroughTime.from_trace(
            self.trace, self.episodes, self.monitor._threshold, times=self.timeline.moments
        )
        page.wide_figure(
            figure,
            caption,
            f"Evidence against calibration through time, with {len(self.episodes)} episodes.",
        )

    def _table(self, page: Page) -> None:
        page.section(
            "Episodes",
            f"{BIAS} The onset is the start that explains the alarm best; the interval takes it as "
            "known, so it is somewhat too narrow. The recovery is dated in the same way.",
        )
        shown = self.rows()[-MOST_SHOWN:]
        more = len(self.episodes) - len(shown)
        first = f" The first {more:,} are left out." if more else ""
        page.table(HEAD, shown, f"{len(self.episodes):,} episodes.{first}")

    def _reliability(self, page: Page) -> None:
        tables = {}
        came = ~np.isnan(self.outcomes)
        for name, some in zip(LOOKS, (came & ~self.inside, came & self.inside), strict=True):
            if some.any():
                card = Scorecard()
                card.extend(self.predictions[some], self.outcomes[some])
                tables[name] = card.reliability(bins=15)
        text = "Episodes in opposite directions can cancel out here."
        page.reliability(tables, text, looks=LOOKS)


def place_of(episode: Episode) -> str:
    """Return where an episode was, in as few words as a table has room for."""
    if episode.group is not None:
        return f"group {episode.group}"
    if (episode.low, episode.high) == (0.0, 1.0):
        return "everywhere"
    return f"{episode.low:.3g} to {episode.high:.3g}"
