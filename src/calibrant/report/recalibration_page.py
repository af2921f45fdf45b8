"""The report about one recalibration: what changed, when, for whom, and how it was made.

The page consists of panels, one function each, in the order of `PANELS`. A panel takes the report
and the page, and adds its section, or nothing. To add a panel, write a function and list it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

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
from calibrant.checks import Columns, Finding, check_columns
from calibrant.measures import Change, Scorecard
from calibrant.measures.chance import Differences, dispersion_of
from calibrant.monitor import Monitor
from calibrant.monitor.monitor import Arrivals
from calibrant.recalibrate import Recalibrator
from calibrant.recalibrate.rivals import WindowedRefit
from calibrant.report import verdict as verdicts
from calibrant.report.before_after import WINDOW, BeforeAfter, log_loss_changes
from calibrant.report.decisions import Decisions
from calibrant.report.figures import ErrorThroughTime, MeanThroughTime, ScoreMap
from calibrant.report.figures.score_map import HasMap
from calibrant.report.page import Page, Report
from calibrant.report.style import BEFORE_AFTER, drawn, show_number, show_share
from calibrant.report.timeline import Timeline, Times, as_clock
from calibrant.report.verdict import Evidence, Verdict, judge, who_wins
from calibrant.report.watch_page import (
    BIAS,
    HEAD,
    HOW_TO_READ,
    JUDGED_BY,
    WatchReport,
    watch_rounds,
)
from calibrant.tables import Clock
from calibrant.tables.scored import as_probabilities

if TYPE_CHECKING:
    from calibrant.fleet import FleetMonitor, KeyMiscalibration

Panel: TypeAlias = Callable[["RecalibrationReport", Page], None]

#: Name, attribute of a scorecard, description.
MEASURE_ROWS = (
    ("Brier score", "brier", "mean squared error"),
    ("log loss", "log_loss", "mean, in nats"),
    ("Cal1, sum", "cal1", "absolute calibration error"),
    ("Cal2, sum", "cal2", "squared calibration error"),
    ("ECE, 20 bins", "ece", "predicted against observed"),
    ("smECE", "smece", "the same, smoothed"),
)
READING = (
    "Lower is better for all measures. Cal1 and Cal2 are exact, without bins, and meant for "
    "probabilities that repeat: they count the noise of scores with many distinct values as error, "
    "so compare such scores by ECE and smECE."
)
ALARMS = (
    "The monitor may be looked at after every round: while the probability of the event, given "
    "what was known when it was predicted, is within 0.02 of the prediction, it raises a false "
    "alarm at most once in 1,000,000 rounds on average. If predictions are drawn at random, their "
    "mean is monitored."
)
EPISODES_ON_PAGE = 20
#: Plain refits: rows between refits, outcomes used by each, most refits, and least rows for any.
REFITS: dict[str, Literal["isotonic", "sigmoid"]] = {
    "Platt refit": "sigmoid",
    "isotonic refit": "isotonic",
}
REFIT_EVERY, REFIT_WINDOW, MOST_REFITS, LEAST_TO_REFIT = 1_000, 10_000, 300, 500
REFIT_HEAD = ["", "Brier score", "log loss", "ECE"]
GROUPS_ON_PAGE = 40
#: How many weights are shown, and the least weight that is.
WEIGHTS_ON_PAGE, LEAST_WEIGHT = 5, 0.005
#: Groups whose maps are drawn; more lines could not be told apart.
GROUPS_IN_MAP = 4
#: More windows than this cannot be read; fewer than the second show nothing about time.
MOST_WINDOWS, FEWEST_WINDOWS = 150, 4
#: Keys in the table of the page.
KEYS_ON_PAGE = 50
KEY_HEAD = ["key", "bias", "outcomes", "evidence"]


def recalibration(
    scores: npt.ArrayLike,
    calibrated: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    times: Times = None,
    available: npt.ArrayLike | Clock | None = None,
    checks: Sequence[Finding] | None = None,
    allow: str | Sequence[str] = (),
    by: Sequence[Id] | npt.ArrayLike | None = None,
    kind: str = "probability",
    title: str = "Scores before and after recalibration",
    never: int | None = None,
    made: Mapping[str, str] | None = None,
    window: int = WINDOW,
    recalibrator: HasMap | None = None,
    expected: npt.ArrayLike | None = None,
    known: npt.ArrayLike | None = None,
    decisions: Decisions | None = None,
    assumed: str = "",
) -> RecalibrationReport:
    """Report what a recalibration changed: measures, sentences, and a page that shows them.

    In a notebook, the result shows itself as the page.

    Parameters
    ----------
    scores : array_like of shape (T,)
        The model's scores.
    calibrated : array_like of shape (T,)
        The probabilities predicted from them, in [0, 1].
    outcomes : array_like of shape (T,)
        The outcomes, in [0, 1]; NaN where unknown. Such rounds are counted and left out.
    times : array_like of shape (T,) or callable, optional
        The times of the rounds: dates, numbers or text, or a function of the position. Dates and
        numbers are also shown on time axes.
    available : array_like of shape (T,), optional
        When each outcome became known, on the clock of `times`, missing for never: such rounds are
        also left out. The report then shows whether outcomes arrived too late.
    checks : sequence of Finding, optional
        What `calibrant.checks.check_columns` found in the rows; computed if not given. With a
        warning among them, the verdict is "doubtful".
    allow : str or sequence of str
        Checks to allow, by name (`docs/checks.md`).
    by : array_like of shape (T,), optional
        The group of each round, text or integers.
    kind : {"probability", "logit", "margin"}
        The kind of the scores. Margins are not probabilities, so there is nothing to compare with.
    title : str
        The heading of the page.
    never : int, optional
        The number of outcomes that were never learned; by default, of those that are unknown.
    made : mapping of str to str, optional
        How the probabilities were made, for the end of the page.
    window : int
        The number of rounds in a window; the worst window is shown.
    recalibrator : Recalibrator, optional
        The recalibrator that made `calibrated`: the page then shows its current map of scores.
    expected : array_like of shape (T,), optional
        The expected predictions, in [0, 1]: the monitor uses them instead of `calibrated`, which
        are drawn from a grid.
    known : array_like of shape (T,), optional
        When each outcome counted, in seconds or numbers on the clock of `times`, or in rounds
        without one. The monitor judges each prediction by what was known when it was made.
        `available` by default.
    decisions : Decisions, optional
        The decisions, for their own section.
    assumed : str, optional
        What is assumed about the rows, for the first sentence of the verdict.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.report import recalibration
    >>> from calibrant.streams import load
    >>> rise = load("covid_rise")
    >>> calibrated = Recalibrator().run(rise.scores, rise.outcomes)
    >>> report = recalibration(rise.scores, calibrated, rise.outcomes)
    >>> report.verdict.word
    'better'
    >>> print(report.verdict.size)
    The probabilities became better: the Brier score fell from 0.2534 to 0.2350, ...
    >>> report.html().startswith("<!doctype html>")
    True
    """
    check_choice("kind", kind, KINDS)
    observed = as_series(outcomes, "outcomes").astype(np.float64)
    timeline = Timeline.from_times(times, np.arange(len(observed)), len(observed))
    later: Clock | None = None
    if available is not None:
        later = as_clock(available, timeline.clock, len(observed))
        observed[np.isnan(later.ticks)] = np.nan
    ticks = np.arange(float(len(observed))) if timeline.clock is None else timeline.clock.ticks
    since = None if later is None else later.ticks
    if known is not None:
        since = as_series(known, "known").astype(np.float64)
        check_same_length("known", len(since), "outcomes", len(observed))
    is_known = ~np.isnan(observed)
    rows = np.flatnonzero(is_known)
    timeline = replace(timeline, rows=rows)
    if len(rows) == 0:
        raise ValueError(f"outcomes must not all be missing, got {len(observed)} missing ones")
    observed[~is_known] = 0.0  # so that a bad one is named by its own position
    observed = as_unit_series(observed, "outcomes")
    after = as_unit_series(calibrated, "calibrated")
    before: Floats | None
    if kind == "probability":
        given = before = as_unit_series(scores, "scores")
    else:
        given = as_series(scores, "scores").astype(np.float64)
        if not np.isfinite(given).all():
            at = int(np.isfinite(given).argmin())
            raise ValueError(f"scores must be finite, got {float(given[at])!r} at position {at}")
        before = as_probabilities(given, kind)
    check_same_length("scores", len(given), "outcomes", len(observed))
    check_same_length("calibrated", len(after), "outcomes", len(observed))
    means = after if expected is None else as_unit_series(expected, "expected")
    check_same_length("expected", len(means), "outcomes", len(observed))
    groups = None
    if by is not None:
        groups = as_listed(by, "by", "the group of each round")
        check_same_length("by", len(groups), "outcomes", len(observed))
        groups = [check_id(groups[row], f"by at position {row}") for row in rows]
    waits = None
    if later is not None and timeline.clock is not None:
        waits = Arrivals.at(timeline.clock.ticks, later.ticks).waits[rows]
    if checks is None:
        columns = Columns(
            np.where(is_known, observed, np.nan), given,
            None if timeline.clock is None else timeline.clock.ticks,
            None if later is None or timeline.clock is None else later.ticks,
            kind=kind, is_time=timeline.has_dates,
            has_silence=getattr(recalibrator, "silence", None) is not None,
            has_hold=getattr(recalibrator, "hold", None) is not None,
        )  # fmt: skip
        checks = check_columns(columns, allow)
    before, after, observed = None if before is None else before[rows], after[rows], observed[rows]
    measures = BeforeAfter(window, has_raw=before is not None)
    measures.extend(before, after, observed, groups)
    predictions = {"calibrated": after}
    if before is not None:
        predictions = {"raw": before, **predictions}
    return RecalibrationReport.from_measures(
        measures, title=title, kind=kind, made={"scores are": kind} if made is None else made,
        never=len(given) - len(rows) if never is None else never, waits=waits, checks=checks,
        assumed=assumed, predictions=predictions, outcomes=observed, timeline=timeline,
        scores=given,
        recalibrator=recalibrator, expected=means[rows], groups=groups,
        arrivals=None if since is None else Arrivals.at(ticks[rows], since[rows]),
        decisions=None if decisions is None else decisions.of_rows(rows, observed, before),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecalibrationReport(Report):
    """What a recalibration changed, as returned by `recalibration`.

    If there were too many rows to keep, the attributes below `keys` are empty.

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
    kind : str
        The kind of the scores.
    checks : list of Finding
        What the checks of the rows found.
    recalibrator : Recalibrator or None
        The recalibrator that made the probabilities.
    keys : KeysWatched or None
        What the monitors of a fleet found.
    predictions : dict of str to array
        Predictions of the rounds with a known outcome: "raw", if the scores are probabilities, and
        "calibrated".
    outcomes : array of float
        The outcomes of these rounds.
    timeline : Timeline
        The times of these rounds.
    scores : array of float
        The model's scores, in all rounds.
    expected : array of float
        The expected predictions of these rounds.
    groups : list or None
        The group of each of these rounds.
    arrivals : Arrivals or None
        Which outcomes were known at each of these rounds; None if those of all earlier rounds.
    decisions : Decisions or None
        The decisions in these rounds.

    Examples
    --------
    >>> from calibrant.report import recalibration
    >>> report = recalibration([0.9, 0.9, 0.9], [0.6, 0.4, 0.5], [1, 0, float("nan")])
    >>> report.measures.rounds, round(report.measures.calibrated.brier, 2)
    (2, 0.16)
    >>> report.findings[-1]
    '1 outcome never arrived: these rows have a probability, but nothing was learned from them.'
    """

    title: str
    verdict: Verdict
    measures: BeforeAfter
    findings: list[str]
    made: dict[str, str]
    kind: str
    checks: list[Finding] = field(default_factory=list)
    recalibrator: HasMap | None = None
    keys: KeysWatched | None = None
    predictions: dict[str, Floats] = field(default_factory=dict)
    outcomes: Floats = field(default_factory=lambda: np.empty(0))
    timeline: Timeline = field(default_factory=lambda: Timeline(None))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    expected: Floats = field(default_factory=lambda: np.empty(0))
    groups: list[Id] | None = None
    arrivals: Arrivals | None = None
    decisions: Decisions | None = None

    @classmethod
    def from_measures(
        cls,
        measures: BeforeAfter,
        *,
        title: str,
        kind: str,
        made: Mapping[str, str],
        never: int = 0,
        waits: Floats | None = None,
        checks: Sequence[Finding] = (),
        assumed: str = "",
        **kept: Any,
    ) -> RecalibrationReport:
        """Return the report on measures; `kept` are the attributes of a run with its rows."""
        verdict, evidence = judge(measures), Evidence(measures, waits, checks)
        for diagnose in verdicts.CAUSES:
            cause = diagnose(evidence, verdict.word)
            if cause is not None:
                word = cause.word or verdict.word
                is_turned = word != verdict.word
                size = verdict.size
                if word == "doubtful":
                    size = f"Taken at face value, {size[0].lower()}{size[1:]}"
                verdict = replace(
                    verdict, word=word, size=size, cause=cause.sentence, is_turned=is_turned
                )
                break
        allowed = [finding.message for finding in checks if finding.is_allowed]
        verdict = replace(verdict, assumed=" ".join([assumed, *allowed]).strip())
        place = kept["timeline"].name if "timeline" in kept else Timeline(None).name
        findings = measures.findings(verdict=verdict, never=never, place=place)
        notes = [each for each in checks if not each.is_open and not each.is_allowed]
        findings += [note.message for note in notes]
        if kept.get("decisions") is not None:
            findings.append(kept["decisions"].sentence)
        return cls(title, verdict, measures, findings, dict(made), kind, list(checks), **kept)

    @cached_property
    def watched(self) -> dict[str, WatchReport]:
        """What a monitor finds in the calibrated predictions, and in the scores if probabilities.

        Each prediction is judged by what was known when it was made, with the default tolerance
        and guarantee of `Monitor`.
        """
        of = {**self.predictions, "calibrated": self.expected} if self.predictions else {}
        most = len(set(self.groups or ()))
        return {
            name: watch_rounds(
                p, self.outcomes, self.groups, self.timeline, Monitor(max_groups=most), name,
                self.arrivals,
            )
            for name, p in of.items()
        }  # fmt: skip

    @cached_property
    def refits(self) -> dict[str, Refit]:
        """What plain refits would have done on the same rows with the same lateness, by name.

        Platt's sigmoid and isotonic regression, on the last 10,000 outcomes that were known,
        refitted every 1,000 rows, or ten times in a shorter run. Empty for margins, and for a run
        whose rows were not kept or are too few.
        """
        raw, rounds = self.predictions.get("raw"), len(self.outcomes)
        if raw is None or rounds < LEAST_TO_REFIT:
            return {}
        late = self.arrivals
        learned_by = np.arange(1, rounds + 1) if late is None else late.after
        every = max(min(REFIT_EVERY, rounds // 10), rounds // MOST_REFITS)
        own = self.predictions["calibrated"]
        found = {}
        for name, method in REFITS.items():
            rival = WindowedRefit(method, window=REFIT_WINDOW, every=every)
            predicted = rival.play_late(raw, self.outcomes, learned_by)
            card, differences = Scorecard(), Differences()
            card.extend(predicted, self.outcomes)
            differences.extend(*log_loss_changes(predicted, own, self.outcomes))
            found[name] = Refit(card, differences.change())
        return found

    @property
    def refits_in_words(self) -> str:
        """Which wins, calibrant or plain refits, by log loss; empty if there are no refits."""
        if not self.refits:
            return ""
        changes = {name: refit.change for name, refit in self.refits.items()}
        return who_wins(changes, "two plain refits", "log loss")

    @cached_property
    def dispersion(self) -> float:
        """The variance of residuals, relative to that of independent outcomes."""
        if self.arrivals is None or not self.predictions:
            return 1.0
        after = self.predictions["calibrated"]
        return dispersion_of(after, self.outcomes, self.arrivals.waits)

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        both = self.measures
        first = set(self.verdict.sentences)
        page = Page(
            self.title,
            [f"{both.rounds:,} rounds with an outcome; the mean outcome is "
             f"{show_number(both.calibrated.mean_outcome)}. What to look at, and what it means:",
             *[finding for finding in self.findings if finding not in first]],
            self.verdict,
        )  # fmt: skip
        for panel, shown in PANELS:
            if getattr(self, shown):
                panel(self, page)
        page.made(self.made)
        return page


class Refit(NamedTuple):
    """A plain refit: its measures, and calibrant's log loss minus its own."""

    card: Scorecard
    change: Change


@dataclass(frozen=True)
class KeysWatched:
    """What the monitors of a fleet found, by column, and the number of keys."""

    monitors: Mapping[str, FleetMonitor]
    count: int

    def sentence(self, name: str) -> str:
        """Return how many keys are miscalibrated in a column, and how certain that is."""
        found = self.monitors[name]
        off, rounds = len(found.miscalibrated_keys()), found.rounds
        if off == 0:
            return (
                f"No miscalibration was detected in any of {self.count:,} keys after {rounds:,} "
                "outcomes."
            )
        return (
            f"{off:,} of {self.count:,} keys {'is' if off == 1 else 'are'} miscalibrated by more "
            f"than {found.tolerance:g}. The probability that any calibrated key has been listed so "
            f"far is at most {found.false_alarm_probability:.2g}."
        )


def key_rows(keys: Sequence[KeyMiscalibration]) -> list[list[str]]:
    """Return miscalibrated keys as rows of a table with the head `KEY_HEAD`."""
    return [
        [str(each.key), f"{each.bias:+.3f}", f"{each.outcomes:,}", f"{each.evidence:.2f}"]
        for each in keys
    ]


def measures_panel(report: RecalibrationReport, page: Page) -> None:
    """Every measure before and after."""
    both = report.measures
    counts = {name: len(column.distinct().count) for name, column in both.columns.items()}
    distinct = ", ".join([f"{count:,} {name}" for name, count in reversed(counts.items())])
    page.section("Before and after", READING)
    page.table(
        ["", *both.columns, "description"],
        measure_rows(both),
        f"The {both.rounds:,} rounds with an outcome. Distinct probabilities: {distinct}.",
    )


def refits_panel(report: RecalibrationReport, page: Page) -> None:
    """What plain refits would have done."""
    page.section(
        "Compared with plain refits",
        "The usual alternative: a sigmoid (Platt) or an isotonic map, refitted every 1,000 rows, "
        "or ten times in a shorter run, on the last 10,000 outcomes known by then, with the same "
        "rows and the same delays. A refit that predicts 0 or 1 and is wrong has an infinite log "
        "loss; for the comparison, probabilities are clipped to [1e-15, 1 - 1e-15].",
    )
    page.table(REFIT_HEAD, refit_rows(report), report.refits_in_words)


def decisions_panel(report: RecalibrationReport, page: Page) -> None:
    """The decisions, and what they caught and cost."""
    assert report.decisions is not None
    window = shown_window(report.measures.rounds, report.measures.window)
    report.decisions.draw(page, window, report.timeline.moments)


def reliability_panel(report: RecalibrationReport, page: Page) -> None:
    """Predicted against observed, each column by itself."""
    tables = report.measures.reliability
    is_crowded = {table.scheme for table in tables.values()} == {"mass"}
    bins = (
        "Most probabilities are close together, so each point is a tenth of the rounds, on a "
        "log-odds scale; in a point at the bottom, the event was never observed."
        if is_crowded
        else "The strip below shows the number of rounds."
    )
    page.reliability(
        tables,
        "Below the diagonal, predictions were too high; above it, too low. Bars are 95% intervals, "
        f"with rounds treated as independent. {bins}"
        + (" Keys that are miscalibrated in opposite directions can cancel out here."
           if report.keys is not None else ""),
        looks=BEFORE_AFTER,
    )  # fmt: skip


def time_panel(report: RecalibrationReport, page: Page) -> None:
    """The means and the error, window by window."""
    both = report.measures
    window = shown_window(both.rounds, both.window)
    if window is None:
        return
    cards = both.columns
    if window % both.window:  # so few rounds that smaller windows are shown
        if not report.predictions:
            return
        cards = {name: Scorecard(window) for name in report.predictions}
        for name, card in cards.items():
            card.extend(report.predictions[name], report.outcomes)
    times = report.timeline.moments
    shown: dict[str, Any] = {
        "times": times, "looks": BEFORE_AFTER, "dispersion": report.dispersion,
    }  # fmt: skip
    means = MeanThroughTime.from_cards(cards, window=window, **shown)
    outside = int((np.abs(means.observed - means.predicted["calibrated"]) > means.chance).sum())
    stretches = len(means.observed)
    page.section(
        "Through time",
        f"Stretches of {window:,} rounds. A pooled error can hide that a model is too high in one "
        "season and too low in the next; these figures cannot. The band is what chance explains: "
        "if the calibrated probabilities were right, the mean outcome would lie inside it in 95 of "
        "100 stretches."
        + (
            " Predictions that were pending at the same time may share a shock: the variance of "
            f"their residuals is {report.dispersion:.2g} times that of independent outcomes, and "
            "the band allows for this."
            if report.dispersion > 1.0
            else ""
        ),
    )
    page.wide_figure(
        means,
        f"Mean prediction and mean outcome. In {outside:,} of {stretches:,} stretches, the mean "
        "outcome lies outside the band; chance alone would explain about "
        f"{0.05 * stretches:.0f}.",
        f"Mean prediction and mean outcome through time; {outside} of {stretches} outside the "
        "band.",
    )
    errors = ErrorThroughTime.from_cards(cards, window=window, **shown)
    assert errors.chance is not None
    worst = []
    for name, curve in errors.curves.items():
        at = int(np.nanargmax(curve.error))
        start = report.timeline.name(max(int(curve.rounds[at]) - window, 0))
        worst.append(f"at worst {show_share(curve.error[at])} for {name}, from {start}")
    above = int((errors.curves["calibrated"].error > errors.chance).sum())
    page.wide_figure(
        errors,
        f"The calibration error (ECE): {'; '.join(worst)}. The calibrated probabilities are above "
        f"the band in {above:,} of {stretches:,} stretches. The error is never 0, because of "
        "chance in so few rounds.",
        f"ECE through time: {'; '.join(worst)}.",
    )


def episodes_panel(report: RecalibrationReport, page: Page) -> None:
    """The alarms of a monitor, before and after."""
    is_late = [each.is_late for each in report.watched.values()]
    notes = [ALARMS, JUDGED_BY, HOW_TO_READ] if any(is_late) else [ALARMS, HOW_TO_READ]
    page.section("Alarms", " ".join(notes))
    rows = []
    for name, watched in report.watched.items():
        watched.draw_evidence(page, f"{name.capitalize()}: {watched.sentence}")
        rows += [[name, *row] for row in watched.rows()[-EPISODES_ON_PAGE:]]
    if rows:
        page.table(
            ["", *HEAD],
            rows,
            f"Episodes, the last {EPISODES_ON_PAGE} of each. {BIAS}",
        )


def map_panel(report: RecalibrationReport, page: Page) -> None:
    """The current map from score to probability."""
    assert report.recalibrator is not None
    both = report.measures
    groups = [part.group for part in both.groups[:GROUPS_IN_MAP]]
    is_probability = report.kind == "probability"
    is_crowded = both.reliability["calibrated"].scheme == "mass"
    now = ScoreMap.from_recalibrator(
        report.recalibrator, report.scores, groups=groups, is_probability=is_probability,
        scale="logit" if is_probability and is_crowded else "linear",
    )  # fmt: skip
    low, high = now.middle
    spoken = []
    for name, values in now.maps.items():
        became = np.interp([low, high], now.scores, values)
        spoken.append(f"{name}, {show_share(became[0])} and {show_share(became[1])}")
    page.section(
        "From score to probability, now",
        "The probability that each score would get after the last round."
        + (
            " On the dashed line, a score is left unchanged. Above it, the recalibrator raises the "
            "score, because the model is too low there; below it, the score is lowered."
            if is_probability
            else ""
        )
        + " Nine scores in ten lie in the shaded range; outside it, the map is based on few rounds."
        + (
            f" The {len(groups)} largest groups are shown, each with its own map."
            if len(both.groups) > len(groups)
            else ""
        ),
    )
    page.figures(
        {f"The map from score to probability: {'; '.join(spoken)}.": drawn(now, 4.4, 4.6)},
        f"Nine scores in ten lie between {show_share(low)} and {show_share(high)}; these two would "
        f"become: {'; '.join(spoken)}.",
    )


def weights_panel(report: RecalibrationReport, page: Page) -> None:
    """What the probabilities are based on now."""
    if not isinstance(report.recalibrator, Recalibrator):
        return
    weights = report.recalibrator.weights()
    shown = [each for each in weights[:WEIGHTS_ON_PAGE] if each.weight >= LEAST_WEIGHT]
    page.section(
        "What the probabilities are based on, now",
        "Many recalibrations run side by side, weighted by how well they predicted the outcomes so "
        "far. A fixed correction uses all past outcomes equally, a drift mainly the recent ones; "
        "the last outcomes have weight if one outcome helps to predict the next.",
    )
    page.table(
        ["", "weight"],
        [[each.words, f"{each.weight:.0%}"] for each in shown],
        f"After the last outcome: mostly {shown[0].words}."
        + (" Groups have their own weights." if report.measures.groups else ""),
    )


def groups_panel(report: RecalibrationReport, page: Page) -> None:
    """Each group by itself."""
    both = report.measures
    head, rows = group_rows(both, GROUPS_ON_PAGE)
    rest = len(both.groups) - len(rows)
    page.section(
        "By group",
        "Each group, the largest first. In a group with few rounds, errors are mostly chance."
        + (f" The {rest:,} smallest groups are not shown." if rest else ""),
    )
    caption = "Brier score and ECE (20 bins) by group."
    if both.raw is not None:
        fell = [part for part in both.groups if part.raw and part.calibrated.brier < part.raw.brier]
        caption += f" The Brier score fell in {len(fell)} of {len(both.groups)} groups."
    page.table(head, rows, caption)


def keys_panel(report: RecalibrationReport, page: Page) -> None:
    """The miscalibrated keys of a fleet, and the episodes over all keys."""
    assert report.keys is not None
    for name, found in report.keys.monitors.items():
        keys, episodes = found.miscalibrated_keys(), found.episodes
        sentence = report.keys.sentence(name)
        page.section(
            f"Miscalibrated keys: {name}",
            [
                sentence,
                f"{BIAS} It is the mean over the given number of the key's last outcomes.",
                "A key is listed once its evidence reaches 1. Keys with most evidence come first.",
            ]
            if keys
            else sentence,
        )
        if keys:
            left = len(keys) - KEYS_ON_PAGE
            page.table(
                KEY_HEAD,
                key_rows(keys[:KEYS_ON_PAGE]),
                f"{len(keys):,} keys."
                + (f" The other {left:,} are not shown." if left > 0 else ""),
            )
        if episodes:
            page.text(["All keys together, in ranges of probabilities:", *map(str, episodes[-10:])])


#: In the order of the page; each with the attribute of the report that it shows, if it needs one.
PANELS: tuple[tuple[Panel, str], ...] = (
    (measures_panel, "measures"),
    (refits_panel, "refits"),
    (decisions_panel, "decisions"),
    (reliability_panel, "measures"),
    (time_panel, "measures"),
    (episodes_panel, "watched"),
    (map_panel, "recalibrator"),
    (weights_panel, "recalibrator"),
    (groups_panel, "groups"),
    (keys_panel, "keys"),
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


def refit_rows(report: RecalibrationReport) -> list[list[str]]:
    """Return the scores, the calibrated probabilities and plain refits as lines of a table."""
    refits = {name: refit.card for name, refit in report.refits.items()}
    cards = {**report.measures.columns, **refits}
    return [
        [name, *[show_number(value, fine=True) for value in (card.brier, card.log_loss, card.ece)]]
        for name, card in cards.items()
    ]


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
