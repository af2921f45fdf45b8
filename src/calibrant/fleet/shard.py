"""One shard of a fleet: its keys, what they share, and its pending predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet.fleet import FleetRows, FleetRule, ShardKernel
from calibrant._kernels.fleet.fleet_level import Level
from calibrant._kernels.fleet.fleet_state import PartState
from calibrant._kernels.fleet.key_batch import KeyBatch
from calibrant._kernels.fleet.keys import KeyIndex
from calibrant._kernels.rounds.book import ANSWERS, Book
from calibrant.fleet.known import KnownKey
from calibrant.fleet.watch import ShardWatch
from calibrant.rounds.policy import Policy

Integers = npt.NDArray[np.int64]
#: Where the rows of a shard stand in a batch, and a call of `Calls`.
At = Integers | slice
Call = tuple[Callable[..., Any], tuple[Any, ...], At | int | None]

#: Slots of parents that are not there: none was given, or one that was never seen.
NONE, NEW = -1, -2
USED = ANSWERS.tolist().index("used")


class Rows(NamedTuple):
    """Rows of one shard: keys, their parents if they have some, scores, and times or NaN."""

    keys: KeyBatch
    parents: KeyBatch | None
    scores: Floats
    times: Floats

    def take(self, at: Integers) -> Rows:
        """Return some of the rows."""
        parents = None if self.parents is None else self.parents.take(at)
        return Rows(self.keys.take(at), parents, self.scores[at], self.times[at])


class Table(NamedTuple):
    """What a table has besides keys and scores; None for a column that it does not have."""

    names: list[Any] | None
    outcomes: Floats
    made: Floats | None  # when rows are predicted, or outcomes by id arrive
    known: Floats | None  # when outcomes become known, NaN for never
    dues: Floats | None  # when outcomes count
    weights: Floats | None  # how much outcomes teach


class Before(NamedTuple):
    """Where a shard can go back to."""

    state: PartState
    keys: int
    parents: int
    sides: dict[str, Any]
    now: float


class Shard:
    """The keys with certain hashes: nothing in it depends on any other shard."""

    __slots__ = ("book", "kernel", "parent_index", "rule", "watch")

    def __init__(
        self, kind: str, seed: int, policy: Policy, watch: Mapping[str, Any] | None = None
    ) -> None:
        self.watch = None if watch is None else ShardWatch(watch, policy.capacity)
        self.kernel = ShardKernel(kind, seed, None if self.watch is None else self.watch.keys)
        self.rule, self.parent_index = FleetRule(self.kernel, KeyIndex()), KeyIndex()
        self.book = Book(self.rule, policy)

    @property
    def index(self) -> KeyIndex:
        """The slots of the keys."""
        return self.rule.index

    @property
    def nbytes(self) -> int:
        """Bytes that keys and all that they share take."""
        watched = 0 if self.watch is None else self.watch.keys.nbytes
        return self.kernel.nbytes + self.index.nbytes + self.parent_index.nbytes + watched

    # -- rows -----------------------------------------------------------------------------------

    def check(self, keys: KeyBatch, parents: KeyBatch | None) -> None:
        """Refuse keys of another kind than those that are here."""
        for index, batch, name in (
            (self.index, keys, "keys"),
            (self.parent_index, parents, "parents"),
        ):
            if batch is None or None in (index.kind, batch.kind) or index.kind == batch.kind:
                continue
            words = {"int": "integers", "str": "strings"}
            raise ValueError(
                f"{name} of this fleet are {words[str(index.kind)]}, got {words[str(batch.kind)]}"
            )

    # Keys are there at once, and `go_back_to` forgets them; all else is left to compiled calls.

    def predict(self, rows: Rows, at: At) -> list[Call]:
        """Return the calls that predict rows, of which no outcome will be learned."""
        columns = (*self._added(rows), rows.scores, rows.times)
        return [*self._let_pass(rows.times[:1]), (self.kernel.predict, columns, at)]

    def open(
        self, rows: Rows, names: list[Id], made: Floats | None, dues: Floats | None, at: At
    ) -> list[Call]:
        """Return the call that predicts rows; they wait by id from then on."""
        columns = FleetRows(*self._added(rows), rows.scores, rows.times)
        return [(self.book.open, (columns, names, None, made, dues), at)]

    def run(self, rows: Rows, outcomes: Floats, at: At) -> list[Call]:
        """Return the calls that predict each row, then learn its outcome, unless that is NaN."""
        columns = (*self._added(rows), rows.scores, rows.times, outcomes)
        return [(self.kernel.run, columns, at), *self._let_pass(rows.times)]

    def _let_pass(self, times: Floats) -> list[Call]:
        """Return the call that lets time pass to the latest of some times, if they are no NaN."""
        if len(times) and not np.isnan(times[0]):
            return [(self.book.let_pass, (float(times.max()),), None)]
        return []

    def play(self, rows: Rows, table: Table, told: Floats, answers: npt.NDArray[np.uint8]) -> None:
        """Play rows one by one: predictions, outcomes by id (no score), or both at once."""
        before, opening = len(self.index), np.flatnonzero(~np.isnan(rows.scores))
        slots, parents = (np.full(len(rows.scores), NONE) for _ in range(2))
        slots[opening], parents[opening] = self._added(rows.take(opening))
        observes = np.isnan(rows.scores).astype(np.uint8)
        columns = FleetRows(slots, parents, rows.scores, rows.times)
        book = self.book
        if len(opening) and book.has_deadlines:
            book.is_timed = table.made is not None
        book.play(
            columns, None, table.names, table.outcomes, table.made, table.known, table.dues,
            observes, told, answers, None, table.weights,
        )  # fmt: skip
        if (answers == USED).any():
            # A row that was refused may have brought a key that nothing else asked for.
            made = self.kernel.keys.made()
            self._forget([before + np.flatnonzero(made[before:] == 0), np.empty(0, np.int64)])

    def expected(self, rows: Rows, placed: bool) -> Floats:
        """Return what `predict` would draw on average, or the estimate before that is `placed`."""
        slots = self.index.slots(rows.keys)
        if rows.parents is None:
            parents = np.broadcast_to(np.int64(NONE), len(slots))
        else:
            parents = self.parent_index.slots(rows.parents)
            parents[parents < 0] = NEW
        return self.kernel.expected(slots, parents, rows.scores, placed)

    def _added(self, rows: Rows) -> tuple[Integers, Integers]:
        """Return the slots of keys and of parents, which are there from now on."""
        slots = added(self.index, self.kernel.keys, rows.keys)
        if rows.parents is None:
            return slots, np.broadcast_to(np.int64(NONE), len(slots))
        return slots, added(self.parent_index, self.kernel.parents, rows.parents)

    # -- keys -----------------------------------------------------------------------------------

    def known(self, slot: int) -> KnownKey:
        """Return what is known of the key in a slot."""
        return KnownKey(*self.kernel.keys.known(slot))

    def evict(self, idle: float, now: float | None) -> int:
        """Forget keys and parents that were predicted last more than `idle` before `now`.

        Returns how many keys. Without a time, now is the number of the next prediction.
        """
        time = float(self.kernel.rounds) if now is None else now
        before = len(self.index)
        levels = (self.kernel.keys, self.kernel.parents)
        self._forget([np.flatnonzero(time - level.last() > idle) for level in levels])
        return before - len(self.index)

    def _forget(self, gone: Sequence[Integers]) -> None:
        """Forget keys and parents in some slots."""
        if not any(len(slots) for slots in gone):
            return
        moved = [
            kept(self.index, self.kernel.keys, gone[0]),
            kept(self.parent_index, self.kernel.parents, gone[1]),
        ]
        if self.watch is not None:
            self.watch.keys.keep(np.flatnonzero(moved[0] >= 0))
        for _, opened in self.book.waiting():
            opened.move(*moved)

    # -- going back -----------------------------------------------------------------------------

    def copy(self) -> Before:
        """Return where the shard is now, for `go_back`."""
        sides = {} if self.watch is None else self.watch.save_sides()
        keys, parents = len(self.index), len(self.parent_index)
        return Before(self.kernel.copy(), keys, parents, sides, self.book.now)

    def go_back_to(self, keys: int, parents: int) -> None:
        """Forget the keys and parents that were added since there were so many."""
        for index, level, count in (
            (self.index, self.kernel.keys, keys),
            (self.parent_index, self.kernel.parents, parents),
        ):
            level.truncate(min(count, len(level)))
            index.truncate(count)

    def go_back(self, before: Before) -> None:
        """Return to what `copy` gave; no key may have been forgotten since."""
        self.kernel.go_back(before.state)
        if self.watch is not None:
            assert self.kernel.watched is not None
            self.watch.keys = self.kernel.watched
            self.watch.sides.load(before.sides)
        self.index.truncate(before.keys)
        self.parent_index.truncate(before.parents)
        self.book.now = before.now


def added(index: KeyIndex, level: Level, keys: KeyBatch) -> Integers:
    """Return the slots of keys, each of which is there from now on."""
    before = len(index)
    try:  # an interrupt may fall between the two
        slots = index.slots(keys, add=True)
        level.add(index.hashes(before))
    except BaseException:
        level.truncate(min(before, len(level)))
        index.truncate(before)
        raise
    return slots


def kept(index: KeyIndex, level: Level, gone: Integers) -> Integers:
    """Forget the keys in some slots; return the new slot of each old one, -1 where forgotten."""
    moved = index.remove(gone)
    level.keep(np.flatnonzero(moved >= 0))
    return moved
