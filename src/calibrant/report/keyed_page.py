"""The page of a run with keys: before and after, what happened of what was said, keys that are off.

A run with keys may have more rows than fit into memory, so everything is kept in sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Floats
from calibrant.fleet import FleetMonitor, KeyOff
from calibrant.measures import ReliabilityTable
from calibrant.measures.binned import reliability_table
from calibrant.measures.rounds import DistinctTable
from calibrant.report.figures.axes import logit_ends
from calibrant.report.figures.reliability import ReliabilityDiagram, seen_in
from calibrant.report.page import Page
from calibrant.report.style import BEFORE_AFTER, Drawable, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Fine bins that what was said is counted in, even in the arcsine of its root.
FINE = 4000
BINS, LEVEL = 10, 0.95
#: Where one bin of ten holds a larger share of the rounds, bins of equal mass show more.
CROWDED = 0.5
#: How close to 0 and 1 a log loss looks.
EDGE = 1e-15
#: Keys in the table of the page.
MOST_KEYS = 50
KEY_HEAD = ["key", "off by", "outcomes", "evidence"]


@dataclass(eq=False)
class Column:
    """What was said in one column of probabilities and what happened, in sums.

    Examples
    --------
    >>> from calibrant.report.keyed_page import Column
    >>> column = Column()
    >>> column.add(np.array([0.5, 0.9]), np.array([0.0, 1.0]))
    >>> column.means()
    {'brier': 0.13, 'log_loss': 0.399..., 'mean_said': 0.7}
    """

    rounds: int = 0
    sums: Floats = field(default_factory=lambda: np.zeros(3))
    fine: Floats = field(default_factory=lambda: np.zeros((3, FINE)))

    def add(self, said: Floats, outcomes: Floats) -> None:
        """Count rounds whose outcomes are known."""
        p = np.clip(said, EDGE, 1 - EDGE)
        logs = -(outcomes * np.log(p) + (1 - outcomes) * np.log1p(-p))
        self.rounds += len(said)
        self.sums += [((said - outcomes) ** 2).sum(), logs.sum(), said.sum()]
        place = np.arcsin(np.sqrt(said)) * (2 * FINE / np.pi)
        which = np.minimum(place.astype(np.int64), FINE - 1)
        columns = (None, said, outcomes)
        self.fine += [np.bincount(which, values, minlength=FINE) for values in columns]

    def means(self) -> dict[str, float]:
        """Return the Brier score, the log loss and the mean of what was said."""
        values = (self.sums / max(self.rounds, 1)).tolist()
        return dict(zip(("brier", "log_loss", "mean_said"), values, strict=True))

    def reliability(self) -> ReliabilityTable:
        """Return what was said and what happened in ten bins, of equal mass where most are alike.

        To the width of a fine bin.
        """
        count, said, happened = self.fine[:, self.fine[0] > 0]
        distinct = DistinctTable(said / count, count.astype(np.int64), happened)
        table = reliability_table(distinct, BINS, LEVEL)
        if table.count.max(initial=0) > CROWDED * self.rounds:
            table = reliability_table(distinct, BINS, LEVEL, "mass")
        return table


def key_rows(keys: list[KeyOff]) -> list[list[str]]:
    """Return keys that are off as lines of a table, below `KEY_HEAD`."""
    return [
        [str(each.key), f"{each.bias:+.3f}", f"{each.outcomes:,}", f"{each.evidence:.2f}"]
        for each in keys
    ]


def keys_sentence(found: FleetMonitor, keys: int) -> str:
    """Return how many keys are off, and how sure that is."""
    off, rounds = len(found.keys_off()), found.rounds
    if off == 0:
        return f"None of {keys:,} keys is off, as far as {rounds:,} outcomes can tell."
    return (
        f"{off:,} of {keys:,} keys {'is' if off == 1 else 'are'} off by more than "
        f"{found.tolerance:g}; the chance that any calibrated one got on the list so far is at "
        f"most {found.chance_of_a_false_name:.2g}."
    )


def keyed_page(
    title: str,
    columns: Mapping[str, Column],
    found: Mapping[str, FleetMonitor],
    keys: int,
    made: Mapping[str, str],
) -> Page:
    """Return the page of a run with so many keys; needs matplotlib."""
    said = {name: keys_sentence(each, keys) for name, each in found.items()}
    rounds = columns["calibrated"].rounds
    page = Page(
        title,
        [f"{rounds:,} rounds with an outcome, of {keys:,} keys.",
         *(f"{name}: {sentence}" for name, sentence in said.items())],
    )  # fmt: skip
    page.section("Before and after", "Losses: lower is better.")
    names = {"brier": "Brier score", "log_loss": "log loss", "mean_said": "mean of what was said"}
    rows = [
        [words, *(f"{column.means()[name]:.5f}" for column in columns.values())]
        for name, words in names.items()
    ]
    page.table(["", *columns], rows, f"The {rounds:,} rounds with an outcome.")
    draw_reliability(page, columns)
    for name, each in found.items():
        add_keys(page, name, each, said[name])
    page.section("How it was made")
    page.table(["what", "how"], [[what, how] for what, how in made.items()], "This run.")
    return page


def draw_reliability(page: Page, columns: Mapping[str, Column]) -> None:
    """What was said against what happened, each column by itself."""
    page.section(
        "Of what was said, how much happened",
        "Points on the diagonal are calibrated: of what was called 70 %, 70 % happened. Below it, "
        "too much was said; above it, too little. Bars are 95 % intervals that take rounds as "
        "independent. Keys that are off in opposite directions can cancel out here.",
    )
    tables = {name: column.reliability() for name, column in columns.items()}
    figures: dict[str, Drawable | Figure] = {}
    told = []
    for name, table in tables.items():
        crowded = not np.array_equal(table.lower, np.arange(BINS) / BINS)
        ends = logit_ends(seen_in([table])) if crowded else None
        told.append(f"{name}, {int(table.off.sum())} of {int((table.count > 0).sum())}")
        diagram = ReliabilityDiagram({name: table}, ends, BEFORE_AFTER)
        figures[f"Reliability, {name}."] = drawn(diagram, 4.2, 5.5 if ends is None else 4.3)
    page.figures(
        figures, f"Points off the diagonal by more than chance explains: {'; '.join(told)}."
    )


def add_keys(page: Page, name: str, found: FleetMonitor, sentence: str) -> None:
    """Add the keys that are off, and the episodes of all keys together."""
    off, episodes = found.keys_off(), found.episodes
    page.section(
        f"Keys that are off: {name}",
        [
            sentence,
            "Off by: what happened less what was said, so above 0 probabilities were too low. It "
            "is the mean of the key's last outcomes, as many as stand beside it.",
            "Evidence: from 1 on a key is named. Keys with the most of it come first.",
        ]
        if off
        else sentence,
    )
    if off:
        left = f" The other {len(off) - MOST_KEYS:,} are left out." if len(off) > MOST_KEYS else ""
        page.table(KEY_HEAD, key_rows(off[:MOST_KEYS]), f"{len(off):,} keys.{left}")
    if episodes:
        page.text(["All keys together, in ranges of probabilities:", *map(str, episodes[-10:])])
