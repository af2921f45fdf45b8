"""What a fleet holds: its keys, and the predictions that wait."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Id, check_choice, check_integer
from calibrant._spans import as_span
from calibrant._times import Time, time_of
from calibrant.fleet.known import KnownKey
from calibrant.fleet.part import Part
from calibrant.fleet.ranking import RANKINGS, ranked

if TYPE_CHECKING:
    from _thread import RLock


class Held:
    """Parts with their keys and waiting predictions: what is there, and what to forget of it."""

    __slots__ = ()

    parts: int
    _parts: dict[int, Part]
    _lock: RLock
    _is_open: bool  # for reading only?

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return sum(part.kernel.rounds for part in self._parts.values())

    @property
    def learned(self) -> int:
        """Outcomes learned so far."""
        return sum(part.kernel.learned for part in self._parts.values())

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return sum(len(part.book) for part in self._parts.values())

    def waiting(self) -> dict[Id, float]:
        """Return when the predictions that wait were made, by id, of those with a time."""
        with self._lock:
            return {
                id_: each.at
                for part in self._parts.values()
                for id_, each in part.book.waiting()
                if not math.isnan(each.at) and isinstance(id_, str | int)
            }

    @property
    def expired(self) -> int:
        """How many predictions with an id were given up before their outcome came."""
        return sum(part.book.expired for part in self._parts.values())

    @property
    def nbytes(self) -> int:
        """Bytes that the keys take, their index included; predictions that wait are not."""
        return sum(part.nbytes for part in self._parts.values())

    def __len__(self) -> int:
        """Return how many keys were predicted so far and not forgotten."""
        return sum(len(part.index) for part in self._parts.values())

    @property
    def key_kind(self) -> str | None:
        """What the keys are: "int" or "str"; None while there are none."""
        kinds = (part.index.kind for part in self._parts.values())
        return next((kind for kind in kinds if kind is not None), None)

    def keys(self) -> npt.NDArray[Any]:
        """Return all keys, part by part, in the order in which they came."""
        found = [part.index.keys() for part in self._parts.values() if len(part.index)]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def __iter__(self) -> Iterator[Id]:
        return iter(self.keys().tolist())

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not None

    def __getitem__(self, key: Id) -> KnownKey:
        """Return what is known of a key."""
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        part, slot = found
        return part.known(slot)

    def ranked(
        self, by: str = "trouble", count: int = 100, start: int = 0
    ) -> list[tuple[Id, KnownKey]]:
        """Return the keys with the most of something and what is known of them, the first first.

        Parameters
        ----------
        by : {"trouble", "outcomes", "predictions"}
            Trouble is how clearly a key differs from the whole: its offset, up or down, in standard
            deviations of the offset; 0 before its first outcome.
        count, start : int
            How many, after the first `start`. Equals stand in the order in which they came.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(seed=7)
        >>> _ = fleet.run(["quiet", "busy", "busy", "busy"] * 10, None, [0, 1, 1, 1] * 10)
        >>> [key for key, _ in fleet.ranked("outcomes")]
        ['busy', 'quiet']
        """
        check_choice("by", by, tuple(RANKINGS))
        end = check_integer("start", start, 0) + check_integer("count", count, 0)
        with self._lock:
            return ranked(list(self._parts.values()), by, start, end)

    def _find(self, key: object) -> tuple[Part, int] | None:
        """Return the part and the slot of a key; with parents, any part may hold it."""
        for part in self._parts.values():
            if len(part.index):
                slot = int(part.index.slots([key])[0])
                if slot >= 0:
                    return part, slot
        return None

    # -- forgetting -----------------------------------------------------------------------------

    def evict(self, idle: float | timedelta | str, now: Time | None = None) -> int:
        """Forget the keys that were predicted last longer ago than `idle`; return how many.

        In predictions of the key's part, or in the time of ``predict(..., at=...)`` if `now` says
        what time it is. A key that comes again begins anew. What it taught the others stays.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet()
        >>> _ = fleet.run(["a", "b", "b", "b"], None, [1, 0, 1, 0])
        >>> fleet.evict(idle=3), "a" in fleet
        (1, False)
        """
        self._check_open()
        span = as_span(idle, "idle")
        time = None if now is None else time_of(now, "now")
        if span.is_time and time is None:
            raise ValueError(f"idle={idle!r} is a time, so now=... must say what time it is")
        with self._lock:
            return sum(part.evict(span.length, time) for part in self._parts.values())

    def expire(self, *, older_than: int | None = None, before: Time | None = None) -> list[Id]:
        """Give up waiting for old predictions; return their ids.

        Their outcomes, should they still come, are refused as expired.

        Parameters
        ----------
        older_than : int, optional
            Those made more than so many predictions of their part ago.
        before : number or date and time, optional
            Those made with an earlier time, ``predict(..., at=...)``.
        """
        self._check_open()
        if (older_than is None) == (before is None):
            raise ValueError("expire() takes older_than, an integer, or before, a time")
        with self._lock:
            parts = list(self._parts.values())
            if before is not None:
                time = time_of(before, "before")
                return [name for part in parts for name in part.book.expire(before=time)]
            age = check_integer("older_than", older_than, 0)
            return [
                name for part in parts for name in part.book.expire(number=part.kernel.rounds - age)
            ]

    def forget_ids(self) -> int:
        """Forget all ids: what waits is given up, and every id may be used anew.

        For a fleet that goes on where ids are given by somebody else. Returns how many waited.
        """
        self._check_open()
        with self._lock:
            return sum(part.book.forget() for part in self._parts.values())

    def _check_open(self) -> None:
        if self._is_open:
            raise ValueError("this fleet was opened for reading only; Fleet.load reads it to go on")
