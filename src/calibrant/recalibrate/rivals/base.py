"""The round that every rival shares, and the rival that leaves the scores alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_unit_series, check_real, check_same_length
from calibrant._kernels.recalibrate import as_known
from calibrant._kernels.waiting import Waiting
from calibrant.recalibrate.waiting import RoundsById, named

#: The default of a Recalibrator.
CAPACITY = 100_000


class Forecast(NamedTuple):
    """A rival's probability for a score, and how many it gave before."""

    number: int
    score: float
    probability: float

    @property
    def batch(self) -> int:
        """Its own number: whatever comes together is learned in order of prediction."""
        return self.number


class Rival(RoundsById[Forecast], ABC):
    """A recalibrator of scores in [0, 1].

    A rival says what it makes of a score (`_forecast`) and of the outcome that followed
    (`_learn`). Bad input raises ValueError and changes nothing.

    Outcomes may come late, by id, as those of a `Recalibrator`: the same ones are refused, and as
    many may wait. A rival then learns as if the score had been asked for only now, since none of
    the sources says anything of lateness.

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
    >>> _ = rival.predict(0.5, id="a"), rival.predict(0.75, id="b")
    >>> rival.update(0, id="b")
    >>> rival.expire(older_than=0)
    ['a']
    """

    def __init__(self) -> None:
        self._rounds = 0
        self._learned = 0
        self._waiting = Waiting(CAPACITY)
        self._current: Forecast | None = None  # the last one, until something else is learned

    @abstractmethod
    def _forecast(self, score: float) -> float:
        """Return the probability for a score; asking again must not matter."""

    @abstractmethod
    def _learn(self, outcome: float) -> None:
        """Take in the outcome of the score that was forecast last."""

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self._rounds

    @property
    def learned(self) -> int:
        """Outcomes learned so far."""
        return self._learned

    def predict(self, score: float, id: Id | None = None) -> float:  # noqa: A002
        """Return the probability for a score, and open a round that waits for its outcome.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(outcome, id)``. An id is used once.
        """
        known = check_real("score", score, 0.0, 1.0)
        return self._waiting.open(id, None, self._begin, known).probability

    def update(self, outcome: float, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome in [0, 1]: of the last prediction without an id, or of an id's.

        An outcome that an id had before is ignored; a different one is refused.
        """
        known = check_real("outcome", outcome, 0.0, 1.0)
        self._waiting.answer(id, known, self._finish)

    def _begin(self, score: float) -> Forecast:
        self._current = Forecast(self._rounds, score, self._forecast(score))
        self._rounds += 1
        return self._current

    def _finish(self, forecast: Forecast, outcome: float) -> None:
        if forecast is not self._current:  # others were forecast, or learned, in between
            self._forecast(forecast.score)
        self._learn(outcome)
        self._current = None
        self._learned += 1

    def predict_many(
        self, scores: npt.ArrayLike, ids: Sequence[Id] | npt.NDArray[Any] | None = None
    ) -> Floats:
        """Return the probabilities for many scores; those with ids wait for their outcomes."""
        known = as_unit_series(scores, "scores")
        with self._waiting.lock:
            names, _ = named(self._waiting, ids, None, len(known))
            forecasts = [self._begin(score) for score in known.tolist()]
            if names is not None:
                self._waiting.keep_many(names, forecasts)
        return np.array([each.probability for each in forecasts])

    def _learn_many(self, predictions: list[Forecast], outcomes: Floats) -> None:
        for forecast, outcome in zip(predictions, outcomes.tolist(), strict=True):
            self._finish(forecast, outcome)

    def run(self, scores: npt.ArrayLike, outcomes: npt.ArrayLike) -> Floats:
        """Play one round a score; return the probabilities, each made before its outcome.

        An outcome that is NaN or None is not known: nothing is learned from the row. Interrupted
        with Ctrl-C, the rounds played until then stay learned, and counted.
        """
        known_scores = as_unit_series(scores, "scores")
        known_outcomes = as_known(outcomes)
        check_same_length("scores", len(known_scores), "outcomes", len(known_outcomes))
        predictions = np.empty(len(known_scores))
        rounds = zip(known_scores.tolist(), known_outcomes.tolist(), strict=True)
        if len(predictions):
            self._waiting.unnamed = self._current = None
        for t, (score, outcome) in enumerate(rounds):
            predictions[t] = self._forecast(score)
            if not math.isnan(outcome):
                self._learn(outcome)
                self._learned += 1
            self._rounds += 1
        return predictions


class Raw(Rival):
    """Predict the score itself: what every recalibrator must beat.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import Raw
    >>> Raw().predict(0.25)
    0.25
    """

    def _forecast(self, score: float) -> float:
        return score

    def _learn(self, outcome: float) -> None:
        pass
