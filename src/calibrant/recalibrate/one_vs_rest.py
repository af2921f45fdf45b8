"""Several classes, each against the rest: one recalibrator a class, then rows that sum to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._checks import MAX_SEED, Floats
from calibrant._kernels.recalibrate import RecalibrateKernel, check_rounds
from calibrant.recalibrate.groups import kernel_state
from calibrant.recalibrate.states import stack_states, unstack_states
from calibrant.recalibrate.waiting import Integers, Played


class PerClass:
    """One recalibrator a class. The key of a round says nothing: it is 0."""

    __slots__ = ("kernels",)

    def __init__(self, classes: int, seed: int) -> None:
        self.kernels = [
            RecalibrateKernel("probability", (seed + each) % (MAX_SEED + 1))
            for each in range(classes)
        ]

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self.kernels[0].rounds

    @property
    def learned(self) -> int:
        """Labels learned so far."""
        return self.kernels[0].learned

    def begin(self, p: Floats) -> tuple[Floats, Played]:
        """Predict a row; return it and what is to be remembered."""
        begun = tuple(
            kernel._begin(score) for kernel, score in zip(self.kernels, p.tolist(), strict=True)
        )
        return normalised(np.array([z for *_, z, _ in begun])), Played(0, begun)

    def finish(self, played: Played, label: int) -> None:
        """Learn which class happened."""
        for each, (kernel, begun) in enumerate(zip(self.kernels, played.rounds, strict=True)):
            kernel._finish(begun, float(each == label))

    def run(self, p: Floats, labels: Integers) -> Floats:
        """Play rounds in compiled loops, class by class: none learns from another."""
        columns = [
            kernel.run(p[:, each], (labels == each).astype(np.float64))
            for each, kernel in enumerate(self.kernels)
        ]
        return normalised(np.column_stack(columns))

    def expected(self, p: Floats) -> Floats:
        """Return the row that `begin` would predict if each class predicted its mean."""
        means = [
            kernel.expected(score) for kernel, score in zip(self.kernels, p.tolist(), strict=True)
        ]
        return normalised(np.array(means))

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        return stack_states("class_", [kernel_state(kernel) for kernel in self.kernels])

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state of `get_state`, or raise ValueError."""
        states = unstack_states("class_", state, len(self.kernels))
        for kernel, each in zip(self.kernels, states, strict=True):
            kernel._set_state(each)
        if len({(kernel.rounds, kernel.learned) for kernel in self.kernels}) > 1:
            raise ValueError("saved classes must all have played the same rounds")

    def check_played(self, key: int, numbers: Integers, rows: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if key != 0 or rows.shape[1] != len(self.kernels):
            raise ValueError(f"a saved prediction must have {len(self.kernels)} parts")
        if (numbers != numbers[:, :1]).any():
            raise ValueError("a saved prediction must be of one round")
        for each, kernel in enumerate(self.kernels):
            check_rounds(rows[:, each].reshape(-1), kernel._get_state()["z"])


def normalised(rows: Floats) -> Floats:
    """Return rows of positive numbers, or one, divided by their sums."""
    shares: Floats = rows / rows.sum(axis=-1, keepdims=True)
    return shares
