"""The round that every rival shares: check, forecast, learn."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_unit_series, check_real, check_same_length


class Rival(ABC):
    """A recalibrator of scores in [0, 1].

    A rival says what it makes of a score (`_forecast`) and of the outcome that followed
    (`_learn`). Bad input raises ValueError and changes nothing.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlinePlatt, Rival
    >>> rival = OnlinePlatt()
    >>> isinstance(rival, Rival)
    True
    >>> rival.predict(0.25)
    0.25
    >>> rival.update(1)
    >>> rival.predict(0.25) > 0.25
    True
    """

    def __init__(self) -> None:
        self._rounds = 0
        self._waiting = False

    @abstractmethod
    def _forecast(self, score: float) -> float:
        """Return the probability for a score; asking again must not matter."""

    @abstractmethod
    def _learn(self, outcome: float) -> None:
        """Take in the outcome of the score that was forecast last."""

    @property
    def rounds(self) -> int:
        """Rounds completed so far."""
        return self._rounds

    def predict(self, score: float) -> float:
        """Return the probability for a score; asking again replaces what was asked before."""
        probability = self._forecast(check_real("score", score, 0.0, 1.0))
        self._waiting = True
        return probability

    def update(self, outcome: float) -> None:
        """Learn the outcome that answers the last `predict`, a number in [0, 1]."""
        known = check_real("outcome", outcome, 0.0, 1.0)
        if not self._waiting:
            raise ValueError("update must follow a predict: no prediction waits for an outcome")
        self._learn(known)
        self._waiting = False
        self._rounds += 1

    def run(self, scores: npt.ArrayLike, outcomes: npt.ArrayLike) -> Floats:
        """Play one round a score; return the probabilities, each made before its outcome."""
        known_scores = as_unit_series(scores, "scores")
        known_outcomes = as_unit_series(outcomes, "outcomes")
        check_same_length("scores", len(known_scores), "outcomes", len(known_outcomes))
        predictions = np.empty(len(known_scores))
        rounds = zip(known_scores.tolist(), known_outcomes.tolist(), strict=True)
        for t, (score, outcome) in enumerate(rounds):
            predictions[t] = self._forecast(score)
            self._learn(outcome)
            self._waiting = False
            self._rounds += 1
        return predictions
