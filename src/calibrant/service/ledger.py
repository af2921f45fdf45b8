"""The predictions of a stream that wait: for an outcome, or for their deadline.

The recalibrator keeps what it needs to learn; here is what is needed to measure, to answer and to
show. Both follow the same rules of time, so that both hold the same ids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from calibrant._bytes import Saved, pack, unpack
from calibrant.service.definition import Definition


class Entry(NamedTuple):
    """A prediction that waits.

    `number` counts the predictions before it, `expected` is the mean that it was drawn from, and
    `raw` is its score as a probability, NaN for a margin. `by` is its group, `key` its key: no row
    has both.
    """

    number: int
    at: float
    due: float
    raw: float
    said: float
    smooth: float
    expected: float
    by: str | None
    key: int | str | None


class Settled(NamedTuple):
    """A prediction whose outcome is known for good, and since when."""

    entry: Entry
    outcome: float
    at: float


# As `_make` does, without a call of Python for each row.
make_entry = partial(tuple.__new__, Entry)
make_settled = partial(tuple.__new__, Settled)


class Ledger:
    """The entries by id, the oldest first, and their deadlines."""

    __slots__ = ("_definition", "_queue", "_silence", "entries", "expired", "has_deadlines",
                 "noted", "now")  # fmt: skip

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._silence = definition.silence
        #: Whether outcomes are learned at deadlines.
        self.has_deadlines = definition.silence is not None or definition.hold is not None
        self.entries: dict[str, Entry] = {}
        #: Outcomes that came before the deadline at which they are learned.
        self.noted: dict[str, tuple[float, float]] = {}
        #: The time up to which deadlines have passed: seconds, or predictions made.
        self.now = -math.inf
        self.expired = 0
        self._queue: list[tuple[float, int, str]] = []

    def dues(self, number: int, at: Sequence[float], due: Sequence[float] | None) -> list[float]:
        """Return the deadlines of predictions made now; infinity where there are none.

        Time does not run backwards: a prediction made earlier than `now` counts from now.
        """
        if not self.has_deadlines:
            return [math.inf] * len(at)
        wait = self._definition.wait
        if not self._definition.is_timed:
            assert wait is not None
            return [number + row + wait for row in range(len(at))]
        if due is None:
            assert wait is not None
            return [max(made, self.now) + wait for made in at]
        return [max(made, self.now) + (end - made) for made, end in zip(at, due, strict=True)]

    def open(self, ids: Sequence[str], entries: Sequence[Entry]) -> None:
        """Let predictions wait."""
        self.entries.update(zip(ids, entries, strict=True))
        if self.has_deadlines:
            for id_, entry in zip(ids, entries, strict=True):
                heappush(self._queue, (entry.due, entry.number, id_))

    def is_late(self, id_: str, at: float) -> bool:
        """Whether silence has the last word on a prediction when an outcome comes at a time."""
        return self._silence is not None and self.entries[id_].due <= max(at, self.now)

    def advance(self, now: float, at: float | None = None) -> list[Settled]:
        """Let time pass; return what is settled by a deadline up to `now`.

        Where deadlines are counted in predictions, `at` is the time at which there were so many.
        """
        self.now = max(self.now, now)
        settled = []
        while self._queue and self._queue[0][0] <= now:
            due, number, id_ = heappop(self._queue)
            entry = self.entries.get(id_)
            if entry is None or entry.number != number:
                continue  # it expired
            passed = due if at is None else at
            if id_ in self.noted:
                outcome, came = self.noted.pop(id_)
            elif self._silence is not None:
                outcome, came = float(self._silence), passed
            else:
                continue  # held, and without an outcome so far
            del self.entries[id_]
            settled.append(Settled(entry, outcome, max(came, passed)))
        return settled

    def hear(
        self, ids: Sequence[str], outcomes: Sequence[float], at: Sequence[float]
    ) -> list[Settled]:
        """Take outcomes of predictions that wait; return those that wait for no deadline."""
        entries = self.entries
        if not self.has_deadlines:
            known = [entries.pop(id_) for id_ in ids]
            return list(map(make_settled, zip(known, outcomes, at, strict=True)))
        settled = []
        for id_, outcome, came in zip(ids, outcomes, at, strict=True):
            if entries[id_].due > self.now:
                self.noted[id_] = (outcome, came)
            else:
                settled.append(Settled(entries.pop(id_), outcome, came))
        return settled

    def overflow(self) -> int | None:
        """Give up what is too much, the oldest first; return the number of the first one kept."""
        many = len(self.entries) - self._definition.capacity
        if many <= 0:
            return None
        for id_ in list(self.entries)[:many]:
            del self.entries[id_]
            self.noted.pop(id_, None)
        self.expired += many
        return next(iter(self.entries.values())).number

    def next_due(self) -> float:
        """Return the first deadline of a prediction that waits; infinity if there is none."""
        return min((due for due, _, id_ in self._queue if id_ in self.entries), default=math.inf)

    # -- saving ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        entries = list(self.entries.values())
        state: dict[str, Any] = {
            "ids": list(self.entries),
            "by": [entry.by for entry in entries],
            "number": np.array([entry.number for entry in entries], dtype=np.int64),
            "noted": list(self.noted),
            "outcomes": np.array([each for each, _ in self.noted.values()], dtype=np.float64),
            "times": np.array([each for _, each in self.noted.values()], dtype=np.float64),
            "clock": np.array([self.now]),
            "expired": self.expired,
        }
        if self._definition.keyed:
            state["key"] = [entry.key for entry in entries]
        for name in ("at", "due", "raw", "said", "smooth", "expected"):
            state[name] = np.array([getattr(entry, name) for entry in entries], dtype=np.float64)
        return pack(Saved("Ledger", {}, len(entries), state))

    @classmethod
    def from_bytes(cls, blob: bytes, definition: Definition) -> Ledger:
        """Return what `to_bytes` saved."""
        state = unpack(blob, what="ledger").state
        ledger = cls(definition)
        columns = [
            state[name].tolist()
            for name in ("number", "at", "due", "raw", "said", "smooth", "expected")
        ]
        keys = state["key"] if definition.keyed else [None] * len(state["ids"])
        rows = zip(*columns, state["by"], keys, strict=True)
        ledger.entries = {id_: Entry(*row) for id_, row in zip(state["ids"], rows, strict=True)}
        noted = zip(state["outcomes"].tolist(), state["times"].tolist(), strict=True)
        ledger.noted = dict(zip(state["noted"], noted, strict=True))
        ledger.now, ledger.expired = float(state["clock"][0]), state["expired"]
        if ledger.has_deadlines:
            # A held prediction whose deadline passed is no longer in the queue.
            ledger._queue = [
                (entry.due, entry.number, id_)
                for id_, entry in ledger.entries.items()
                if entry.due > ledger.now
            ]
            heapify(ledger._queue)
        return ledger
