"""Several classes, each against the rest: one recalibrator a class, then rows that sum to one.

Of two classes one recalibrator can do for both: that of the second, and the first gets the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._checks import MAX_SEED, Floats
from calibrant._kernels.rounds.round import StagedRound
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant._kernels.scores.score_rounds import check_rounds
from calibrant.recalibrate.saving import load_kernels, save_kernels
from calibrant.recalibrate.whole_runs import whole_or_not_at_all
from calibrant.rounds.saving import Integers

#: Stands for the class that happened where none is known.
NOT_KNOWN = -1


def nth_seed(seed: int, number: int) -> int:
    """Return the seed of recalibrator `number`; the largest is followed by 0."""
    return (seed + number) % (MAX_SEED + 1)


def run_rows(members: Sequence[RecalibrateKernel], scores: Floats, columns: Integers) -> Floats:
    """Play rounds in compiled loops, one recalibrator after the other: none learns from another.

    `columns` says which class happened, or that it is `NOT_KNOWN`. Returns a row of probabilities
    for each round.
    """
    first = 1 if len(members) == 1 else 0
    with whole_or_not_at_all(members):
        predictions = [
            member.run(scores[:, number], happened(columns, first + number))
            for number, member in enumerate(members)
        ]
    return summing_to_one(np.column_stack(predictions))


def happened(columns: Integers, column: int) -> Floats:
    """Return the outcomes of one class against the rest, NaN where none is known."""
    return np.where(columns == NOT_KNOWN, np.nan, columns == column)


def expected_rows(members: Sequence[RecalibrateKernel], scores: Floats) -> Floats:
    """Return the rows that are predicted if each recalibrator predicts its mean."""
    means = [member._expected_many(scores[:, each]) for each, member in enumerate(members)]
    return summing_to_one(np.column_stack(means))


def summing_to_one(p: Floats) -> Floats:
    """Return rows, or one, of a probability a class, from what the recalibrators predict."""
    if p.shape[-1] == 1:
        return np.concatenate([1.0 - p, p], axis=-1)
    rows: Floats = p / p.sum(axis=-1, keepdims=True)
    return rows


class PerClass:
    """One recalibrator a class, also of two. There are no groups: all rounds are in group 0."""

    __slots__ = ("kernels",)

    def __init__(self, classes: int, seed: int) -> None:
        self.kernels = [
            RecalibrateKernel("probability", nth_seed(seed, each)) for each in range(classes)
        ]

    def begin_many(self, p: Floats) -> tuple[Floats, list[StagedRound]]:
        """Open a round with each row as things stand now; return what is predicted, too."""
        columns = [kernel._begin_many(p[:, each]) for each, kernel in enumerate(self.kernels)]
        rounds = zip(*(opened for _, opened in columns), strict=True)
        predictions = np.column_stack([prediction for prediction, _ in columns])
        return summing_to_one(predictions), [StagedRound(0, each) for each in rounds]

    def finish_many(self, pending: list[StagedRound], labels: Floats) -> None:
        """Learn which classes happened in rounds whose labels came together."""
        for kernel in self.kernels:
            kernel._reserve(len(pending))
        for each, kernel in enumerate(self.kernels):
            rounds = [opened.rounds[each] for opened in pending]
            kernel._finish_many(rounds, (labels == each).astype(np.float64))

    def run(self, p: Floats, labels: Integers) -> Floats:
        """Play rounds in compiled loops."""
        return run_rows(self.kernels, p, labels)

    def expected(self, p: Floats) -> Floats:
        """Return the rows that `begin` would predict if each class predicted its mean."""
        return expected_rows(self.kernels, p)

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        return save_kernels("class_", self.kernels)

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state of `get_state`, or raise ValueError."""
        load_kernels("class_", state, self.kernels)
        if len({(kernel.rounds, kernel.learned) for kernel in self.kernels}) > 1:
            raise ValueError("saved classes must all have played the same rounds")

    def words_of(self, numbers: Integers, saved: Integers) -> list[None]:
        """Return what was saved of groups' words: there are none."""
        if len(saved):
            raise ValueError("saved waiting_words must be of groups, which classes are not")
        return [None] * len(numbers)

    def check_pending(self, groups: Integers, numbers: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if groups.any() or places.shape[1] != len(self.kernels):
            raise ValueError(f"a saved prediction must have {len(self.kernels)} parts")
        if (numbers != numbers[:, :1]).any():
            raise ValueError("a saved prediction must be of one round")
        for each, kernel in enumerate(self.kernels):
            check_rounds(places[:, each].reshape(-1), kernel._get_state()["z"])
