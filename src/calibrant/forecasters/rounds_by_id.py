"""Rounds that wait for their outcomes, by id, and what is done with them.

Which round an id stands for is kept in the compiled `Waiting`; here are the methods on top.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_unit_series, check_integer, check_same_length
from calibrant._kernels.score_rounds import learning_order
from calibrant._kernels.waiting import Waiting
from calibrant._times import Time, time_of
from calibrant.forecasters.answers import in_words, listed_ids

if TYPE_CHECKING:
    from calibrant._kernels.score_rounds import Numbered

P = TypeVar("P", bound="Numbered")


class RoundsById(Generic[P]):
    """What is done with the predictions that wait in `_waiting`."""

    __slots__ = ()

    _waiting: Waiting[P]

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Predictions made so far."""

    @abstractmethod
    def _learn_many(self, predictions: list[P], outcomes: Floats) -> None:
        """Learn outcomes that came together, in this order; all or nothing."""

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting)

    @property
    def expired(self) -> int:
        """How many predictions with an id were given up before their outcome came."""
        return self._waiting.expired

    def update_many(
        self, outcomes: npt.ArrayLike, ids: Sequence[Id] | npt.NDArray[Any]
    ) -> npt.NDArray[np.str_]:
        """Learn outcomes that came together, by id; return what became of each.

        The answers, one a row: "applied"; "repeated", if the id had this outcome before;
        "conflict", if it had or gets another one too; "unknown"; "expired". Only rows that are
        applied change anything, and bad input is refused as a whole.

        The order of the rows carries no information: every order ends in the same state. What
        was predicted first is learned first, and predictions of one `predict_many` in an order
        drawn at random.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = recalibrator.predict_many([0.2, 0.7], ids=["a", "b"])
        >>> recalibrator.update_many([1, 0, 0], ids=["b", "a", "c"]).tolist()
        ['applied', 'applied', 'unknown']
        """
        known, names = self._outcomes(outcomes), listed_ids(ids)
        check_same_length("outcomes", len(known), "ids", len(names))
        waiting = self._waiting
        with waiting.lock:
            answers, rows, predictions = waiting.judge(names, known)
            self._learn_in_order(predictions, known[rows])
            waiting.finish_many(names, known, rows)
        return in_words(answers)

    def _learn_in_order(self, predictions: list[P], outcomes: Floats) -> None:
        """Learn outcomes that came together, in an order that does not depend on theirs."""
        order, ordered = learning_order(predictions)
        self._learn_many(ordered, outcomes[order])

    def _outcomes(self, outcomes: npt.ArrayLike) -> Floats:
        """Return the outcomes of a batch, checked, as numbers."""
        return as_unit_series(outcomes, "outcomes")

    def expire(self, *, older_than: int | None = None, before: Time | None = None) -> list[Id]:
        """Give up waiting for old predictions.

        Returns their ids, oldest first. Their outcomes, should they still come, are refused as
        expired. A prediction without an id does not expire: the next one replaces it.

        Parameters
        ----------
        older_than : int, optional
            Those made more than so many predictions ago.
        before : number or date and time, optional
            Those made with an earlier time, ``predict(..., at=...)``.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = [recalibrator.predict(0.5, id=day, at=day) for day in range(5)]
        >>> recalibrator.expire(older_than=3), recalibrator.expire(before=4)
        ([0, 1], [2, 3])
        >>> recalibrator.expired
        4
        """
        if (older_than is None) == (before is None):
            raise ValueError("expire() takes older_than, an integer, or before, a time")
        with self._waiting.lock:
            if before is not None:
                return self._waiting.expire_before(time_of(before, "before"))
            age = check_integer("older_than", older_than, 0)
            return self._waiting.expire(self.rounds - age)

    def forget_ids(self) -> int:
        """Forget all ids: what waits is given up, and every id may be used anew.

        For a state that goes on where ids are given by somebody else. Returns how many waited.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = recalibrator.predict_many([0.2, 0.7], ids=["a", "b"])
        >>> recalibrator.update(1, id="a")
        >>> recalibrator.forget_ids(), recalibrator.pending
        (1, 0)
        >>> _ = recalibrator.predict(0.2, id="a")
        """
        with self._waiting.lock:
            waited = len(self._waiting.expire(self.rounds))
            self._waiting.load({}, {}, [], {})
            return waited
