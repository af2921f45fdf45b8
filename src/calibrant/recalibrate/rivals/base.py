"""The round that every rival shares: check, forecast, learn."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_unit_series,
    check_id,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant.recalibrate.waiting import Played, Waiting

#: As many as wait in a Recalibrator unless it is told otherwise.
CAPACITY = 100_000


class Rival(ABC):
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
        self._asked = 0
        self._waiting = Waiting(CAPACITY)
        self._current: Played | None = None  # what the last `_forecast` was asked for

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

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting)

    def predict(self, score: float, id: Id | None = None) -> float:  # noqa: A002
        """Return the probability for a score; it waits for ``update(outcome, id)``.

        Without an id, asking again replaces what was asked before.
        """
        known = check_real("score", score, 0.0, 1.0)
        name = None if id is None else check_id(id)
        if name is not None:
            self._waiting.check_new(name)
        probability = self._forecast(known)
        played = Played(0, ((self._asked, known, probability, probability, b""),))
        self._current = played
        self._asked += 1
        if name is None:
            self._waiting.unnamed = played
        else:
            self._waiting.rounds[name] = played
        return probability

    def update(self, outcome: float, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome in [0, 1]: of the last prediction without an id, or of an id's.

        An outcome that an id had before is ignored; a different one is refused.
        """
        known = check_real("outcome", outcome, 0.0, 1.0)
        waiting = self._waiting
        if id is not None:
            name = check_id(id)
            if not waiting.is_repeat(name, known):
                self._learn_late(waiting.rounds[name], known)
                waiting.finish(name, known)
        elif waiting.unnamed is None:
            raise ValueError("update must follow a predict: no prediction waits for an outcome")
        else:
            self._learn_late(waiting.unnamed, known)
            waiting.unnamed = None

    def _learn_late(self, played: Played, outcome: float) -> None:
        if played is not self._current:  # others were asked for, or learned, in between
            self._forecast(played.rounds[0][1])
        self._learn(outcome)
        self._current = None
        self._rounds += 1

    def expire(self, *, older_than: int) -> list[Id]:
        """Give up waiting for predictions made more than `older_than` predictions ago.

        Returns their ids, oldest first.
        """
        return self._waiting.expire(self._asked - check_integer("older_than", older_than, 0))

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
        if len(predictions):
            self._rounds += len(predictions)
            self._asked += len(predictions)
            self._waiting.unnamed = self._current = None
        return predictions
