"""Predictions that wait for their outcomes, by id."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from calibrant._checks import Id, check_id, check_integer
from calibrant._kernels.rounds import Round
from calibrant.recalibrate.forking import forkable_lock


class Numbered(Protocol):
    """A prediction that knows how many came before it."""

    @property
    def number(self) -> int:
        """How many predictions came before it."""


class Pending(NamedTuple):
    """What is remembered of a prediction until its outcome comes.

    `group` is the number of its group. `rounds` is what each kernel needs to learn from the
    outcome; the first kernel sees every prediction, the last makes the one that is returned.
    """

    group: int
    rounds: tuple[Round, ...]

    @property
    def number(self) -> int:
        """How many predictions came before it."""
        return self.rounds[0].number


P = TypeVar("P", bound=Numbered)


class Waiting(Generic[P]):
    """The predictions whose outcomes are still to come, and the last outcomes that came.

    Both are kept in order of time, and neither holds more than `capacity`. A finished id is
    remembered with its outcome, so that one that comes twice is counted once. Beside them, one
    prediction without an id may wait, until the next such one replaces it.

    A step with an id takes several calls; the lock keeps those of two threads apart.
    """

    __slots__ = ("capacity", "finished", "lock", "named", "unnamed")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.lock = forkable_lock()
        self.named: dict[Id, P] = {}
        self.unnamed: P | None = None
        self.finished: OrderedDict[Id, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self.named) + (self.unnamed is not None)

    def open(self, id_: Id | None, begin: Callable[..., P], *given: Any) -> P:
        """Return ``begin(*given)``, a prediction that waits from now on, by id if it has one."""
        if id_ is None:
            with self.lock:
                self.unnamed = prediction = begin(*given)
            return prediction
        name = check_id(id_)
        with self.lock:
            self.check_new(name)
            self.named[name] = prediction = begin(*given)
        return prediction

    def check_new(self, id_: Id) -> None:
        """Refuse an id that is taken, or one too many."""
        if id_ in self.named:
            raise ValueError(f"id {id_!r} was predicted already and waits for its outcome")
        if id_ in self.finished:
            raise ValueError(f"id {id_!r} was predicted already and had its outcome")
        if len(self.named) >= self.capacity:
            raise ValueError(
                f"{self.capacity} predictions wait for their outcomes, as many as "
                f"capacity={self.capacity} allows; expire(older_than=...) gives up old ones"
            )

    def answer(
        self,
        id_: Id | None,
        outcome: float,
        learn: Callable[[P, float], None],
        labels: Sequence[Id] | None = None,
    ) -> None:
        """Call `learn` with the prediction that an outcome is for, unless it did so before.

        If outcomes are the numbers of classes, `labels` names these.
        """
        if id_ is None:
            with self.lock:
                if self.unnamed is None:
                    raise ValueError(
                        "update() without an id answers the last predict() without one, "
                        "and none waits for its outcome"
                    )
                learn(self.unnamed, outcome)
                self.unnamed = None
            return
        name = check_id(id_)
        with self.lock:
            if name not in self.named:
                self.check_repeat(name, outcome, labels)
                return
            learn(self.named[name], outcome)
            del self.named[name]
            self.finished[name] = outcome
            if len(self.finished) > self.capacity:
                self.finished.popitem(last=False)

    def check_repeat(self, id_: Id, outcome: float, labels: Sequence[Id] | None) -> None:
        """Refuse an id that is unknown, or that had another outcome."""
        if id_ not in self.finished:
            raise ValueError(
                f"id {id_!r} is unknown: never predicted, expired, or finished more than "
                f"{self.capacity} outcomes ago"
            )
        before = self.finished[id_]
        if before != outcome:
            first, second = (labels[int(y)] if labels else y for y in (before, outcome))
            raise ValueError(f"id {id_!r} had the outcome {first!r}, and now gets {second!r}")

    def expire(self, before: int) -> list[Id]:
        """Give up the predictions with a number below `before`; return their ids."""
        expired = []
        for id_, prediction in self.named.items():
            if prediction.number >= before:
                break
            expired.append(id_)
        for id_ in expired:
            del self.named[id_]
        return expired


class RoundsById(Generic[P]):
    """What every recalibrator does with the predictions that wait in its `_waiting`."""

    __slots__ = ()

    _waiting: Waiting[P]

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Predictions made so far."""

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting)

    def expire(self, *, older_than: int) -> list[Id]:
        """Give up waiting for predictions made more than `older_than` predictions ago.

        Returns their ids, oldest first. Their outcomes, should they still come, are refused as
        unknown. A prediction without an id does not expire: the next one replaces it.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = [recalibrator.predict(0.5, id=day) for day in range(5)]
        >>> recalibrator.expire(older_than=3)
        [0, 1]
        """
        age = check_integer("older_than", older_than, 0)
        with self._waiting.lock:
            return self._waiting.expire(self.rounds - age)
