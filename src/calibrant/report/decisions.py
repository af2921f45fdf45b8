"""Decisions: what they caught and cost, compared with plain thresholds, and through time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant._checks import Floats
from calibrant.decide import Decider, Reviewed, precision_bound, review
from calibrant.decide.decider import Booleans
from calibrant.measures.distinct import Indices
from calibrant.report.figures import RateThroughTime
from calibrant.report.page import Page
from calibrant.report.style import show_number
from calibrant.report.timeline import Moments

HEAD = ["", "acted on", "of all", "in a window", "events caught", "precision", "cost"]


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a decider did to the rows of a report.

    Attributes
    ----------
    decider : Decider
        Who decided.
    probabilities : array of float
        What it was given.
    acts : array of bool
        What it decided.
    outcomes, scores : array of float or None
        What was observed, and the model's own probabilities, once the report knows them.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Decider
    >>> from calibrant.report.decisions import Decisions
    >>> decider, p = Decider(cost_of_acting=1, cost_of_missing=4), np.array([0.1, 0.2, 0.3, 0.9])
    >>> decisions = Decisions(decider, p, decider.decide_many(p), np.array([0.0, 0, 1, 1]))
    >>> decisions.sentence
    'Acting where it is cheapest (from 0.25 on): 2 of 4 rows (50%), with all of the events; ...'
    """

    decider: Decider
    probabilities: Floats
    acts: Booleans
    outcomes: Floats | None = None
    scores: Floats | None = None

    def of_rows(self, rows: Indices, outcomes: Floats, scores: Floats | None) -> Decisions:
        """Return what was decided of the rows whose outcomes are known."""
        return replace(
            self, probabilities=self.probabilities[rows], acts=self.acts[rows], outcomes=outcomes,
            scores=scores,
        )  # fmt: skip

    @cached_property
    def reviewed(self) -> dict[str, Reviewed]:
        """What this did, and what plain thresholds would have done."""
        assert self.outcomes is not None
        return review(
            self.decider, self.probabilities, self.acts, self.outcomes, scores=self.scores
        )

    @property
    def question(self) -> str:
        """What was asked for."""
        decider = self.decider
        if decider.budget is not None:
            rows = f"{decider.per:,} rows" if isinstance(decider.per, int) else str(decider.per)
            return f"Acting on {percent_of(decider.budget)} per {rows}"
        if decider.precision is not None:
            return f"Acting with a precision of {percent_of(decider.precision)}"
        if decider.recall is not None:
            return f"Acting on {percent_of(decider.recall)} of the events"
        return f"Acting where it is cheapest (from {show_number(decider.threshold)} on)"

    @property
    def sentence(self) -> str:
        """What came of it, in a sentence."""
        done = self.reviewed["decided"]
        caught = "all" if done.recall == 1 else percent_of(done.recall)
        return (
            f"{self.question}: {done.acts:,} of {len(self.acts):,} rows "
            f"({percent_of(done.share)}), with {caught} of the events; "
            f"{percent_of(done.precision)} of them were events, at least {percent_of(self.bound)} "
            "on average, at 95% confidence."
        )

    @property
    def bound(self) -> float:
        """The mean probability of what was acted on is at least this, at 95% confidence."""
        assert self.outcomes is not None
        return precision_bound(self.probabilities[self.acts], self.outcomes[self.acts])

    def rows(self) -> list[list[str]]:
        """Return what each way to decide did, as lines of a table below `HEAD`."""
        return [
            [
                name, f"{each.acts:,}", percent_of(each.share),
                f"{percent_of(each.least)} to {percent_of(each.most)}",
                percent_of(each.recall), percent_of(each.precision), show_number(each.cost),
            ]
            for name, each in self.reviewed.items()
        ]  # fmt: skip

    def in_json(self) -> dict[str, dict[str, float | None]]:
        """Return the same as numbers; None where there is none."""
        return {
            name: {key: None if np.isnan(value) else value for key, value in vars(each).items()}
            for name, each in self.reviewed.items()
        }

    def figure(self, window: int, times: Moments | None) -> RateThroughTime:
        """Return what the question is about, window by window."""
        decider, acts, y = self.decider, self.acts, self.outcomes
        assert y is not None
        values: Floats = acts.astype(np.float64)
        label, band = "acted on", None
        if decider.budget is not None:
            cap = decider.cap or 1.0 + decider.band
            least = 0.0 if decider.cap is not None else max(1.0 - decider.band, 0.0)
            least = least if decider.floor is None else decider.floor
            band = (least * decider.budget, cap * decider.budget)
        elif decider.precision is not None:
            values, label = np.where(acts, y, np.nan), "precision"
            band = (decider.precision, decider.precision)
        elif decider.recall is not None:
            values, label = np.where(y > 0.5, acts, np.nan), "events caught"
            band = (decider.recall, decider.recall)
        return RateThroughTime.from_several(
            {"decided": values}, window=window, label=label, band=band, times=times
        )

    def draw(self, page: Page, window: int | None, times: Moments | None) -> None:
        """Add a section to a page."""
        page.section(
            "Decisions",
            "Each row was decided when it was predicted, from the outcomes known by then. The best "
            "threshold in hindsight knew all outcomes before.",
        )
        page.table(HEAD, self.rows(), self.sentence)
        if window is not None:
            figure = self.figure(window, times)
            page.wide_figure(
                figure,
                f"Each {window:,} rounds by themselves: {figure.label}.",
                f"{figure.label.capitalize()} through time.",
            )


def percent_of(share: float) -> str:
    """Return a share in percent, with three digits that count."""
    return "–" if np.isnan(share) else f"{100.0 * share:.3g}%"
