"""The learner of a stream: a recalibrator for all rows, or a fleet of keys.

The engine uses both through the same methods, and their books for everything that is pending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from calibrant import Fleet, MulticlassRecalibrator, NumberRecalibrator, Recalibrator
from calibrant._checks import Floats
from calibrant._kernels.rounds.book import Book
from calibrant._kernels.rounds.round import Round
from calibrant.service.problems import Problem, bad_value
from calibrant.service.stream.key_watch import KeyWatch
from calibrant.service.stream.keys import Key, as_integer, same_kind
from calibrant.service.stream.rankings import Rankings

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition


Rows = MulticlassRecalibrator | NumberRecalibrator
R = TypeVar("R", bound=Recalibrator | Rows)


class OneForAll(Generic[R]):
    """One recalibrator for all rows, with groups if rows name them."""

    name = "recalibrator"
    #: It has no keys to watch.
    watch: KeyWatch | None = None

    def __init__(self, recalibrator: R, *, smooth: bool) -> None:
        self.recalibrator = recalibrator
        self.book = measured(recalibrator._book, smooth=smooth)

    def set_capacity(self, capacity: int) -> None:
        """Let so many predictions wait from now on."""
        self.recalibrator._given["capacity"] = self.book.capacity = capacity

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with keys: nothing does."""
        return 0

    def frozen(self) -> Callable[[], dict[str, bytes]]:
        """Return a function that gives the whole state as of now, as parts of a snapshot."""
        blob = self.recalibrator.to_bytes()
        return lambda: {self.name: blob}


class OfScores(OneForAll[Recalibrator]):
    """A recalibrator of scores."""

    def __init__(self, recalibrator: Recalibrator) -> None:
        super().__init__(recalibrator, smooth=True)

    def open(
        self,
        ids: list[str],
        scores: list[float | None],
        by: list[str | None] | None,
        keys: Sequence[Key] | None,  # noqa: ARG002 - its rows have none
        at: list[float] | None,
        due: list[float] | None,
        given: list[bytes] | None = None,  # noqa: ARG002 - a score is all that its rows have
    ) -> list[Round]:
        """Predict new rows; return their rounds. `at` is given where deadlines are times."""
        if len(ids) > 1:
            return self.recalibrator._open(np.array(scores), ids, by, at, due)
        rest = [None if each is None else each[0] for each in (by, at, due)]
        return [self.recalibrator._open_one(scores[0], ids[0], *rest)]

    def map(self, scores: Floats, by: str | None, key: str | None) -> tuple[Floats, Floats]:
        """Return the expected and the smooth probability of scores now; nothing changes."""
        if key is not None:
            raise Problem(422, "this stream is not keyed", field="key", allowed="no key")
        groups = None if by is None else [by] * len(scores)
        of = self.recalibrator
        return of.expected(scores, by=groups), of.smooth(scores, by=groups)


class ByKey:
    """A fleet: a model that all keys share, and an offset and a slope for each key."""

    name = "fleet"

    def __init__(self, fleet: Fleet, definition: Definition) -> None:
        self.fleet, self.book = fleet, measured(fleet._shards[0].book)
        self.watch = KeyWatch(fleet, definition.kind) if definition.watch_keys else None
        self.rankings = Rankings(fleet, self.watch)

    def open(
        self,
        ids: list[str],
        scores: list[float | None],
        by: list[str | None] | None,  # noqa: ARG002 - its rows have none
        keys: Sequence[Key] | None,
        at: list[float] | None,
        due: list[float] | None,
        given: list[bytes] | None = None,  # noqa: ARG002 - a score is all that its rows have
    ) -> list[Round]:
        """Predict new rows; return their rounds. `at` is given where deadlines are times."""
        assert keys is not None
        rounds: list[Round] = self.fleet._open(same_kind(keys), scores, ids, at, due=due)
        return rounds

    def map(self, scores: Floats, by: str | None, key: str | None) -> tuple[Floats, Floats]:
        """Return the expected and the smooth probability of scores now; nothing changes.

        Without a key, those of a key that was never seen: what all share.
        """
        if by is not None:
            raise Problem(422, "a keyed stream has no groups", field="by", allowed="no by")
        asked = same_kind([self.unseen() if key is None else self.key_of(key)] * len(scores))
        return self.fleet.expected(asked, scores), self.fleet.smooth(asked, scores)

    def unseen(self) -> Key:
        """Return a key of the right kind that no row had."""
        key: Key = -(2**63) if self.fleet.key_kind == "int" else ""
        while key in self.fleet:
            key = key + 1 if isinstance(key, int) else key + " "
        return key

    def key_of(self, text: str) -> Key:
        """Return a key that was written in an address, or raise a `Problem`."""
        key: Key | None = text
        if self.fleet.key_kind == "int":
            key = as_integer(text)
        if key is None or key not in self.fleet:
            raise Problem(404, f"there is no key {text[:60]!r} in this stream", field="key")
        return key

    def check(self, keys: Sequence[Key]) -> None:
        """Refuse keys of another kind than those that are there."""
        known, names = self.fleet.key_kind, {"int": "integers", "str": "text"}
        given = type(keys[0]).__name__
        if known is not None and known != given:
            raise bad_value(
                f"the keys of this stream are {names[known]}, got {names[given]}",
                "key", names[known],
            )  # fmt: skip

    def set_capacity(self, capacity: int) -> None:
        """Let so many predictions wait from now on."""
        self.fleet._given["capacity"] = self.book.capacity = capacity

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with keys."""
        return self.fleet.nbytes

    def frozen(self) -> Callable[[], dict[str, bytes]]:
        """Return a function that gives the whole state as of now, in any thread."""
        parts = {self.name: self.fleet.frozen()}
        if self.watch is not None:
            parts[self.watch.name] = self.watch.frozen()
        return lambda: {name: part() for name, part in parts.items()}


class OfRows(OneForAll[Rows]):
    """A recalibrator of numbers or of several classes."""

    def __init__(self, recalibrator: Rows) -> None:
        super().__init__(recalibrator, smooth=False)

    def open(
        self,
        ids: list[str],
        scores: list[float | None],
        by: list[str | None] | None,
        keys: Sequence[Key] | None,  # noqa: ARG002 - its rows have none
        at: list[float] | None,
        due: list[float] | None,
        given: list[bytes] | None = None,
    ) -> list[Round]:
        """Predict new rows; return their rounds. `given` has the quantiles of a model, if it does.

        One of these is the forecast, followed by its quantiles at the levels of the stream.
        """
        rows = np.array(scores, dtype=np.float64)  # NaN for None
        if given is not None:
            rows = np.stack([np.frombuffer(each) for each in given])
        return self.recalibrator._open(rows, ids, by, at, due)


Learner = OfScores | ByKey | OfRows


def measured(book: Book, *, smooth: bool = True) -> Book:
    """Return a book that collects what is settled, to be measured; the store remembers the ids."""
    book.remember = 0
    book.collect(smooth=smooth)
    return book
