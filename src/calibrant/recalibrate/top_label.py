"""Several classes by their top label: how sure to be of the class called likeliest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.rounds.round import StagedRound
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.one_vs_rest import NOT_KNOWN
from calibrant.recalibrate.saving import load_kernels, save_kernels
from calibrant.rounds.saving import Integers

#: By how much of itself the top class stays above another that would otherwise equal it.
LEAD = 2.0**-40


class TopLabel:
    """One recalibrator of the confidence, with a group for each class that was ever on top."""

    __slots__ = ("check_pending", "groups", "kernels", "whole", "words_of")

    def __init__(self, classes: int, seed: int) -> None:
        self.whole = RecalibrateKernel("probability", seed)
        self.kernels = [self.whole]
        self.groups = Groups(classes, seed)
        self.check_pending = self.groups.check_pending  # of saved predictions, as
        self.words_of = self.groups.words_of

    def begin_many(self, p: Floats) -> tuple[Floats, list[StagedRound]]:
        """Open a round with each row as things stand now; return what is predicted, too."""
        tops, confidences = top_of(p)
        opened = self.groups.begin_many(self.whole, confidences, tops)
        pending = [each for each in opened if isinstance(each, StagedRound)]  # all of them
        sure = [each.prediction for each in pending]
        return with_confidence(p, tops, sure), pending

    def finish_many(self, pending: list[StagedRound], labels: Floats) -> None:
        """Learn which classes happened in rounds whose labels came together."""
        tops = np.array([self.groups.names[each.group] for each in pending], dtype=np.float64)
        self.groups.finish_many(self.whole, pending, (tops == labels).astype(np.float64))

    def run(self, p: Floats, labels: Integers) -> Floats:
        """Play rounds in a compiled loop."""
        tops, confidences = top_of(p)
        happened = np.where(labels == NOT_KNOWN, np.nan, tops == labels)
        sure = self.groups.run(self.whole, confidences, happened, tops)
        return with_confidence(p, tops, sure)

    def expected(self, p: Floats) -> Floats:
        """Return the means of what `begin` would predict for rows; changes nothing."""
        tops, confidences = top_of(p)
        sure = self.groups.expected_many(self.whole, confidences, tops)
        return with_confidence(p, tops, sure)

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        return save_kernels("whole_", self.kernels) | self.groups.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state of `get_state`, or raise ValueError."""
        load_kernels("whole_", state, self.kernels)
        self.groups.set_state(state)
        for name in self.groups.names:
            if not isinstance(name, int) or not 0 <= name < self.groups.most:
                raise ValueError(f"saved groups must be classes, got {name!r}")


def top_of(p: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the likeliest class of each row, and its probability."""
    tops = p.argmax(axis=1)
    return tops, p[np.arange(len(p)), tops]


def with_confidence(p: Floats, tops: npt.ArrayLike, confidences: npt.ArrayLike) -> Floats:
    """Return rows with other confidences in their top classes, which stay on top if they can.

    The other classes share what is left in their old proportions, but none gets more than a cap
    just below the confidence: what is above it goes to the others, again in proportion. They share
    evenly where they had nothing, and where the confidence is below 1 / K, since then some class
    must be above it.
    """
    sure = np.asarray(confidences)[:, None]
    others = np.arange(p.shape[1]) != np.asarray(tops)[:, None]
    cap = sure * (1.0 - LEAD)
    crowded = cap * (p.shape[1] - 1) < 1.0 - sure
    cap, p = np.where(crowded, 1.0, cap), np.where(crowded, 1.0, p)
    rows: Floats = np.where(others, 0.0, sure)
    free = others
    while free.any():
        left = 1.0 - rows.sum(axis=1, keepdims=True)
        weights = np.where(free, p, 0.0)
        weights = np.where(weights.any(axis=1, keepdims=True), weights, free)
        total = weights.sum(axis=1, keepdims=True)
        shares = weights * (left / np.where(total > 0.0, total, 1.0))
        above = shares > cap
        settled = free & ~above.any(axis=1, keepdims=True)
        rows = np.where(settled, shares, np.where(above, cap, rows))
        free = free & ~(settled | above)
    return rows
