"""How a recalibrator under test is built and played."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.testing.inputs import Array, Inputs


class Subject:
    """A class under test, how to build it and how to play with it."""

    def __init__(self, cls: Callable[..., Any], inputs: Inputs, arguments: dict[str, Any]) -> None:
        self.cls, self.inputs, self.arguments = cls, inputs, arguments
        self.settings = set(inspect.signature(cls).parameters)
        self.can_be_saved = hasattr(cls, "to_bytes")

    def make(self, **settings: Any) -> Any:
        """Build one; a seed is passed on only to a class that takes one."""
        known = {name: value for name, value in settings.items() if name in self.settings}
        return self.cls(**{**self.arguments, **known})

    def stream(self, kind: str, rounds: int, seed: int) -> Rounds:
        """Return rounds of one kind."""
        scores, outcomes = self.inputs.stream(kind, rounds, seed)
        return Rounds(scores, outcomes, self.inputs)

    def state_of(self, recalibrator: Any) -> Any:
        """Return what bad input must not change, as far as it can be seen without a prediction."""
        counts = recalibrator.rounds, recalibrator.learned, recalibrator.pending
        return (counts, recalibrator.to_bytes()) if self.can_be_saved else counts


class Rounds:
    """Scores and what happened, with the further arguments of each round."""

    def __init__(self, scores: Array, outcomes: Array, inputs: Inputs) -> None:
        self.scores, self.outcomes, self.inputs = scores, outcomes, inputs

    def __len__(self) -> int:
        return len(self.scores)

    def predict(self, recalibrator: Any, t: int, **id_: Any) -> Any:
        """Ask for the prediction of round t."""
        return recalibrator.predict(self.scores[t], **id_, **self.inputs.more(t))

    def update(self, recalibrator: Any, t: int, **id_: Any) -> None:
        """Tell what happened in round t."""
        recalibrator.update(self.outcomes[t], **id_)

    def play(self, recalibrator: Any) -> Array:
        """Play single rounds and return the predictions."""
        predictions = []
        for t in range(len(self)):
            predictions.append(self.predict(recalibrator, t))
            self.update(recalibrator, t)
        return np.array(predictions)

    def play_late(self, recalibrator: Any, start: int, stop: int, late: int = 3) -> Array:
        """Play rounds by id, each answered some rounds later, and the later ones first."""
        predictions = []
        for t in range(start, stop):
            predictions.append(self.predict(recalibrator, t, id=t))
            if (t + 1) % late == 0 and t + 1 - late >= start:
                for known in range(t, t - late, -1):
                    self.update(recalibrator, known, id=known)
        return np.array(predictions)

    def run(self, recalibrator: Any, start: int = 0, stop: int | None = None) -> Array:
        """Play rounds in one call."""
        stop = len(self) if stop is None else stop
        part = slice(start, stop)
        more = self.inputs.lists(start, stop)
        predictions: Array = recalibrator.run(self.scores[part], self.outcomes[part], **more)
        return predictions

    def other_outcome(self, t: int) -> Any:
        """Return something that could have happened in round t and did not."""
        return next(y for y in self.outcomes if y != self.outcomes[t])
