"""The page about a recalibration of several classes: a verdict, the named class, and each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant.measures import Scorecard
from calibrant.measures.chance import Differences
from calibrant.measures.multiclass import (
    ClassError,
    ClassSummary,
    as_labelled_rounds,
    class_summary,
    tops_of,
)
from calibrant.report.page import Page
from calibrant.report.style import BEFORE_AFTER, new_axes, show_number, styled
from calibrant.report.verdict import Verdict, Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Classes that a matrix of confusions can show, also in numbers, and a table.
MOST_CONFUSED, MOST_NUMBERED, MOST_LISTED = 20, 12, 30
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Of the rounds that name a class, the share of each class that was observed.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.report.class_page import ConfusionMatrix
    >>> rows, labels = np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1])
    >>> matrix = ConfusionMatrix.of(rows, labels, ["a", "b"])
    >>> matrix.shares.tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """

    shares: Floats
    labels: Sequence[str]
    title: str = ""

    @classmethod
    def of(
        cls, rows: Floats, labels: npt.NDArray[Any], names: Sequence[Id], title: str = ""
    ) -> ConfusionMatrix:
        """Return the confusions of rows, of the classes observed most often."""
        order = np.argsort(-np.bincount(labels, minlength=rows.shape[1]), kind="stable")
        chosen = np.sort(order[:MOST_CONFUSED])
        tops, _ = tops_of(rows)
        counts = np.zeros((rows.shape[1], rows.shape[1]))
        np.add.at(counts, (tops, labels), 1.0)
        totals = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
        return cls(shares[np.ix_(chosen, chosen)], [str(names[at]) for at in chosen], title)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares as a matrix, in percent where there is room for numbers."""
        with styled():
            ax = new_axes(4.4, 4.4) if ax is None else ax
            ax.imshow(self.shares, vmin=0, vmax=1, cmap="Blues")
            ax.grid(False)
            if len(self.labels) <= MOST_NUMBERED:
                for (row, column), share in np.ndenumerate(self.shares):
                    if share >= 0.005:  # black and white stay on a dark page, as the matrix does
                        ink = "white" if share > 0.5 else "black"
                        ax.text(
                            column, row, f"{100 * share:.0f}", ha="center", va="center",
                            fontsize=7, color=ink,
                        )  # fmt: skip
            places = range(len(self.labels))
            is_short = all(len(label) <= 2 for label in self.labels)
            ax.set_xticks(places, self.labels, rotation=0 if is_short else 90, fontsize=7)
            ax.set_yticks(places, self.labels, fontsize=7)
            ax.set_title(self.title, fontsize=10)
            ax.set_xlabel("observed")
            ax.set_ylabel("named")
        return ax


class ClassReport:
    """Rows of several classes before and after recalibration, as numbers and as a page.

    Parameters
    ----------
    scores, predictions : arrays of shape (rounds, classes)
        Rows that sum to one, before and after.
    labels : sequence
        The class that was observed in each.
    classes : sequence, optional
        The labels in the order of the columns; 0, 1, ... by default.
    title : str
        The heading.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import MulticlassRecalibrator
    >>> from calibrant.report import ClassReport
    >>> random = np.random.default_rng(0)
    >>> truth = random.dirichlet([1, 1, 1], 4000)
    >>> labels = (random.random((4000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    >>> rows = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    >>> report = ClassReport(rows, MulticlassRecalibrator(3).run(rows, labels), labels)
    >>> report.verdict.word
    'better'
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        predictions: npt.ArrayLike,
        labels: Any,
        *,
        classes: Sequence[Id] | None = None,
        title: str = "Recalibration of several classes",
    ) -> None:
        size = np.shape(scores)[1] if np.ndim(scores) == 2 else 0
        self.classes = list(range(size)) if classes is None else list(classes)
        places = {label: column for column, label in enumerate(self.classes)}
        given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        columns = np.array([places.get(label, -1) for label in given])
        self.scores, self.labels = as_labelled_rounds(scores, columns)
        self.predictions, _ = as_labelled_rounds(predictions, columns)
        self.title = title

    @cached_property
    def before(self) -> ClassSummary:
        """The measures of the scores."""
        return class_summary(self.scores, self.labels)

    @cached_property
    def after(self) -> ClassSummary:
        """The measures of the predictions."""
        return class_summary(self.predictions, self.labels)

    @cached_property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Each measure: its name, before, after, and what chance explains of the latter."""
        one, two = self.before, self.after
        losses = (self._losses(self.scores).mean(), self._losses(self.predictions).mean())
        numbers = [
            ("log loss", *losses, None),
            ("Brier score", one.brier, two.brier, None),
            ("calibration error of the confidence", one.confidence_ece, two.confidence_ece,
             two.confidence_chance),
            ("calibration error by class", one.classwise_ece, two.classwise_ece,
             two.classwise_chance),
        ]  # fmt: skip
        return [
            (name, f"{first:.4f}", f"{second:.4f}", "–" if chance is None else f"{chance:.4f}")
            for name, first, second, chance in numbers
        ]

    def _losses(self, rows: Floats) -> Floats:
        """Return the log loss of each row, in which nothing is below one in a million."""
        chosen = rows[np.arange(len(rows)), self.labels]
        return np.asarray(-np.log(np.maximum(chosen, LEAST)))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the predictions are better than the scores, by their log losses."""
        differences = Differences()
        gain = np.log(np.maximum(self.scores, LEAST)) - np.log(np.maximum(self.predictions, LEAST))
        differences.extend(
            gain[np.arange(len(gain)), self.labels], (self.predictions * gain).sum(axis=1)
        )
        change = differences.change()
        before = float(self._losses(self.scores).mean())
        after = before + change.mean
        word: Word = "no different"
        if np.isnan(change.low):
            return Verdict("cannot tell", f"{len(self.labels)} rounds are too few to tell.")
        if change.high < 0.0:
            word = "better"
        elif change.low > 0.0 and change.mean > 0.01 * before:
            word = "worse"
        said = {
            "better": "became better: the log loss fell",
            "worse": "became worse: the log loss rose",
            "no different": "are no different beyond chance: the log loss went",
        }[word]
        return Verdict(
            word,
            f"The probabilities {said} from {before:.4f} to {after:.4f} "
            f"({change.mean:+.4f}, between {change.low:+.4f} and {change.high:+.4f} with 95% "
            "confidence).",
        )

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        one, two = self.before.miscalibrated, self.after.miscalibrated
        page = Page(
            self.title,
            [
                f"{len(self.labels):,} rounds of {len(self.classes):,} classes.",
                f"Miscalibrated beyond chance before: {self._named(one)}.",
                f"After: {self._named(two)}.",
            ],
            self.verdict,
        )
        page.section("Measures")
        page.table(
            ["measure", "before", "after", "by chance"],
            self.rows,
            "Errors with bins are not 0 for probabilities that are right: the last column is what "
            "chance explains.",
        )
        tables = {}
        for name, rows in zip(BEFORE_AFTER, (self.scores, self.predictions), strict=True):
            tops, sure = tops_of(rows)
            card = Scorecard()
            card.extend(sure, tops == self.labels)
            tables[name] = card.reliability(bins=15)
        page.reliability(
            tables,
            "Of each row only the named class counts here, the likeliest one.",
            looks=BEFORE_AFTER,
        )
        page.section("Classes")
        page.table(
            ["class", "observed", "before", "after", "error before", "error after", "by chance"],
            self._class_rows(),
            "Mean probability and calibration error of a class against the rest, the classes that "
            f"were worst before first, at most {MOST_LISTED}.",
        )
        page.section(
            "Confusion", "Of the rounds that name a class, the share of each that was observed."
        )
        page.figures(
            {
                f"Confusion {title}.": ConfusionMatrix.of(rows, self.labels, self.classes, title)
                for title, rows in (("before", self.scores), ("after", self.predictions))
            },
            ("In percent. " if len(self.classes) <= MOST_NUMBERED else "The darker, the more. ")
            + (
                f"The {MOST_CONFUSED} classes observed most often."
                if len(self.classes) > MOST_CONFUSED
                else ""
            ),
        )
        return page

    def _named(self, errors: Sequence[ClassError]) -> str:
        names = [str(self.classes[each.column]) for each in errors]
        shown = ", ".join(names[:8])
        return (shown or "none") + (f" and {len(names) - 8} more" if len(names) > 8 else "")

    def _class_rows(self) -> list[list[str]]:
        pairs = zip(self.before.classes, self.after.classes, strict=True)
        worst = sorted(pairs, key=lambda both: both[0].chance - both[0].ece)
        return [
            [
                str(self.classes[one.column]),
                *(
                    show_number(each, fine=True)
                    for each in (
                        one.observed,
                        one.predicted,
                        two.predicted,
                        one.ece,
                        two.ece,
                        two.chance,
                    )
                ),
            ]
            for one, two in worst[:MOST_LISTED]
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        self.page.save(path)
