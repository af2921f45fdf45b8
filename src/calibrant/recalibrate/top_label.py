"""Several classes by their top label: how sure to be of the class called likeliest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant.recalibrate.groups import GroupRound, Groups, kernel_state
from calibrant.recalibrate.states import stack_states, unstack_states
from calibrant.recalibrate.waiting import Played

Labels = npt.NDArray[np.int64]


class TopLabel:
    """One recalibrator of the confidence, with a group for each class that was ever on top.

    The key of a round is the number of its group, whose name is the top class.
    """

    __slots__ = ("groups", "whole")

    def __init__(self, classes: int, seed: int) -> None:
        self.whole = RecalibrateKernel("probability", seed)
        self.groups = Groups(classes, seed)

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self.whole.rounds

    @property
    def learned(self) -> int:
        """Labels learned so far."""
        return self.whole.learned

    def begin(self, p: Floats) -> tuple[Floats, Played]:
        """Predict a row; return it and what is to be remembered."""
        top = int(p.argmax())
        name, group = self.groups.find(top)
        begun = group.begin(self.whole._begin_mean(p[top]))
        played = Played(begun.whole[0], self.groups.keep(name, group), begun)
        return one_with_confidence(p, top, begun.last[3]), played

    def finish(self, played: Played, label: int) -> None:
        """Learn which class happened."""
        outcome = float(self.groups.names[played.key] == label)
        self.groups.members[played.key].finish(GroupRound(*played.rounds), outcome)
        self.whole._finish_mean(played.rounds[0], outcome)

    def run(self, p: Floats, labels: Labels) -> Floats:
        """Play rounds in a compiled loop."""
        tops = p.argmax(axis=1)
        confidences = p[np.arange(len(p)), tops]
        happened = (tops == labels).astype(np.float64)
        sure = self.groups.run(self.whole, confidences, happened, tops)
        return with_confidence(p, tops, sure)

    def expected(self, p: Floats) -> Floats:
        """Return the mean of what `begin` would predict; changes nothing."""
        top = int(p.argmax())
        group = self.groups.find(top)[1]
        sure = group.last.expected(group.score(*self.whole._look(p[top])))
        return one_with_confidence(p, top, sure)

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        return stack_states("whole_", [kernel_state(self.whole)]) | self.groups.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state of `get_state`, or raise ValueError."""
        self.whole._set_state(unstack_states("whole_", state, 1)[0])
        self.groups.set_state(state)
        for name in self.groups.names:
            if not isinstance(name, int) or not 0 <= name < self.groups.most:
                raise ValueError(f"saved groups must be classes, got {name!r}")

    def check_played(self, key: int, rows: Floats) -> None:
        """Refuse a saved prediction that cannot have been made here."""
        self.groups.check_played(key, rows)


def with_confidence(p: Floats, tops: npt.ArrayLike, confidences: npt.ArrayLike) -> Floats:
    """Return rows with other confidences in their top classes.

    The other classes keep their proportions. Where they had nothing, they share evenly.
    """
    at, sure = (np.arange(len(p)), np.asarray(tops)), np.asarray(confidences)
    rest = p.copy()
    rest[at] = 0.0
    left = rest.sum(axis=1)
    rest[left == 0.0] = 1.0 / (p.shape[1] - 1)
    left[left == 0.0] = 1.0
    rows: Floats = rest * ((1.0 - sure) / left)[:, None]
    rows[at] = sure
    return rows


def one_with_confidence(p: Floats, top: int, confidence: float) -> Floats:
    """Return one row with another confidence."""
    row: Floats = with_confidence(p[None], [top], [confidence])[0]
    return row
