"""Predictions that wait for their outcomes, by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from calibrant._checks import Id
from calibrant._kernels.rounds import Round


class Numbered(Protocol):
    """A prediction that knows how many came before it."""

    @property
    def number(self) -> int:
        """How many predictions came before."""


class Pending(NamedTuple):
    """What is remembered of a prediction until its outcome comes.

    `group` is the number of the group that it was made in, as its maker counts them. `rounds` is
    what each kernel needs to learn from the outcome; the first kernel sees every prediction.
    """

    group: int
    rounds: tuple[Round, ...]

    @property
    def number(self) -> int:
        """How many predictions came before."""
        return self.rounds[0].number


P = TypeVar("P", bound=Numbered)


class Waiting(Generic[P]):
    """The predictions whose outcomes are still to come, and the last outcomes that came.

    Both are kept in order of time, and neither holds more than `capacity`. A finished id is
    remembered with its outcome, so that one told twice is not counted twice. Beside them, one
    prediction without an id may wait, until the next such one replaces it.
    """

    __slots__ = ("capacity", "finished", "named", "unnamed")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.named: dict[Id, P] = {}
        self.unnamed: P | None = None
        self.finished: OrderedDict[Id, float] = OrderedDict()

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

    def __len__(self) -> int:
        return len(self.named) + (self.unnamed is not None)

    def put(self, id_: Id | None, prediction: P) -> None:
        """Let a prediction wait, under an id that `check_new` has passed or without one."""
        if id_ is None:
            self.unnamed = prediction
        else:
            self.named[id_] = prediction

    def answer(
        self,
        id_: Id | None,
        outcome: float,
        learn: Callable[[P, float], None],
        names: Sequence[Id] | None = None,
    ) -> None:
        """Call `learn` with the prediction that an outcome is for, unless it did so before.

        If outcomes stand for labels, `names` gives these.
        """
        if id_ is None:
            if self.unnamed is None:
                raise ValueError(
                    "update() without an id answers the last predict() without one, "
                    "and none waits for its outcome"
                )
            learn(self.unnamed, outcome)
            self.unnamed = None
        elif id_ in self.named:
            learn(self.named[id_], outcome)
            del self.named[id_]
            self.finished[id_] = outcome
            if len(self.finished) > self.capacity:
                self.finished.popitem(last=False)
        else:
            self.check_repeat(id_, outcome, names)

    def check_repeat(self, id_: Id, outcome: float, names: Sequence[Id] | None) -> None:
        """Refuse an id that is unknown, or that had another outcome."""
        if id_ not in self.finished:
            raise ValueError(
                f"id {id_!r} is unknown: never predicted, expired, or finished more than "
                f"{self.capacity} outcomes ago"
            )
        before = self.finished[id_]
        if before != outcome:
            first, second = (names[int(y)] if names else y for y in (before, outcome))
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
