"""The round that every rival shares, and the rival that leaves the scores alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_unit_series, check_real, check_same_length
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.rounds.round import PyRound
from calibrant._kernels.rounds.rule import Rule
from calibrant._kernels.scores.recalibrate import as_known
from calibrant.measures.distinct import Indices
from calibrant.rounds.policy import Policy


class RivalRule(Rule):
    """The rounds of a rival, which does not support late outcomes."""

    __slots__ = ("_learned", "_rounds", "current", "rival")

    def __init__(self, rival: Rival) -> None:
        self.rival = rival
        self._rounds = self._learned = 0
        self.current: PyRound | None = None  # the last one, until something else is learned

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self._rounds

    @property
    def learned(self) -> int:
        """Outcomes learned so far."""
        return self._learned

    def check(self, rows: Any, by: Any) -> Floats:  # noqa: ARG002 - rivals have no groups
        """Return scores in [0, 1], or name the first that is none."""
        return as_unit_series(rows, "scores")

    def begin(self, row: Any, by: Any) -> PyRound:  # noqa: ARG002
        """Predict a score."""
        score = check_real("score", row, 0.0, 1.0)
        probability = self.rival._forecast(score)
        self._rounds += 1
        self.current = PyRound(score, score, probability, probability)
        return self.current

    def begin_many(self, rows: Floats, by: Any) -> list[PyRound]:
        """Predict scores that were checked."""
        return [self.begin(score, by) for score in rows.tolist()]

    def learn(self, rounds: list[PyRound], outcomes: Floats) -> None:
        """Learn outcomes one by one, in order of prediction: the sources know no batches."""
        order = sorted(range(len(rounds)), key=lambda each: rounds[each].number)
        for each in order:
            self.learn_one(rounds[each], float(outcomes[each]))

    def learn_one(self, r: PyRound, outcome: float) -> None:
        """Learn an outcome as if its score had been asked for only now."""
        if r is not self.current:  # others were forecast, or learned, in between
            self.rival._forecast(r.token)
        self.rival._learn(outcome)
        self.current = None
        self._learned += 1

    def outcome_of(self, outcome: Any) -> float:
        """Return one outcome as a number."""
        return check_real("outcome", outcome, 0.0, 1.0)

    def run(self, scores: Floats, outcomes: Floats) -> Floats:
        """Play rounds whose outcomes are known at once."""
        predictions = np.empty(len(scores))
        for t, (score, outcome) in enumerate(zip(scores.tolist(), outcomes.tolist(), strict=True)):
            predictions[t] = self.rival._forecast(score)
            if outcome == outcome:  # noqa: PLR0124 - not NaN
                self.rival._learn(outcome)
                self._learned += 1
            self._rounds += 1
        self.current = None
        return predictions


class Rival(Learner, ABC):
    """A recalibrator of scores in [0, 1].

    A rival says what it makes of a score (`_forecast`) and of the outcome that followed
    (`_learn`). Invalid input raises ValueError and changes nothing.

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
    'applied'
    >>> rival.expire(older_than=0)
    ['a']
    """

    def __init__(self) -> None:
        super().__init__(RivalRule(self), Policy())

    @abstractmethod
    def _forecast(self, score: float) -> float:
        """Return the probability for a score; asking again must not matter."""

    @abstractmethod
    def _learn(self, outcome: float) -> None:
        """Take in the outcome of the score that was forecast last."""

    def predict(self, score: float, id: Id | None = None) -> float:  # noqa: A002
        """Return the probability for a score, and open a round that waits for its outcome.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id drops it. With one, it waits until ``update(outcome, id)``. An id is used once.
        """
        probability: float = self._predict(score, id)
        return probability

    def predict_many(
        self, scores: npt.ArrayLike, ids: Sequence[Id] | npt.NDArray[Any] | None = None
    ) -> Floats:
        """Return the probabilities for many scores; those with ids wait for their outcomes."""
        probabilities: Floats = self._predict_many(scores, ids)
        return probabilities

    def run(self, scores: npt.ArrayLike, outcomes: npt.ArrayLike) -> Floats:
        """Play one round a score; return the probabilities, each made before its outcome.

        An outcome that is NaN or None is not known: nothing is learned from the row. Interrupted
        with Ctrl-C, the rounds played until then stay learned, and counted.
        """
        known_scores, known_outcomes = as_unit_series(scores, "scores"), as_known(outcomes)
        check_same_length("scores", len(known_scores), "outcomes", len(known_outcomes))
        if len(known_scores):
            self._book.unnamed = None
        rule: RivalRule = self._rule
        return rule.run(known_scores, known_outcomes)

    def play_late(self, scores: Floats, outcomes: Floats, learned_by: Indices) -> Floats:
        """Return what is predicted of rows whose outcomes arrive late.

        `learned_by` is the first row that may know each outcome; from an outcome that is NaN,
        nothing is learned.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.recalibrate.rivals import OnlinePlatt
        >>> s, y = np.array([0.25, 0.25, 0.25]), np.array([1.0, 1.0, 0.0])
        >>> OnlinePlatt().play_late(s, y, np.array([2, 3, 4])).round(4).tolist()
        [0.25, 0.25, 0.2819]
        """
        predictions, order, done = np.empty(len(scores)), np.argsort(learned_by, kind="stable"), 0
        by_row = np.searchsorted(learned_by[order], np.arange(len(scores)), side="right")
        for row, (score, known) in enumerate(zip(scores.tolist(), by_row.tolist(), strict=True)):
            for late in order[done:known].tolist():
                if not np.isnan(outcomes[late]):
                    self._forecast(float(scores[late]))
                    self._learn(float(outcomes[late]))
            done = known
            predictions[row] = self._forecast(score)
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
