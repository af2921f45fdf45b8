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
from calibrant.fleet.ranking import RANKINGS, ranked
from calibrant.fleet.shard import Shard

if TYPE_CHECKING:
    from _thread import RLock


class Held:
    """Shards with their keys and waiting predictions: what is there, and what to forget of it."""

    __slots__ = ()

    shards: int
    _shards: dict[int, Shard]
    _lock: RLock
    _is_open: bool  # for reading only?

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return sum(shard.kernel.rounds for shard in self._shards.values())

    @property
    def learned(self) -> int:
        """Outcomes learned so far."""
        return sum(shard.kernel.learned for shard in self._shards.values())

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return sum(len(shard.book) for shard in self._shards.values())

    def waiting(self) -> dict[Id, float]:
        """Return when the predictions that wait were made, by id, of those with a time."""
        with self._lock:
            return {
                id_: each.at
                for shard in self._shards.values()
                for id_, each in shard.book.waiting()
                if not math.isnan(each.at) and isinstance(id_, str | int)
            }

    @property
    def expired(self) -> int:
        """How many predictions with an id were given up before their outcome came."""
        return sum(shard.book.expired for shard in self._shards.values())

    @property
    def nbytes(self) -> int:
        """Bytes that the keys take, their index included; predictions that wait are not."""
        return sum(shard.nbytes for shard in self._shards.values())

    def __len__(self) -> int:
        """Return how many keys were predicted so far and not forgotten."""
        return sum(len(shard.index) for shard in self._shards.values())

    @property
    def key_kind(self) -> str | None:
        """What the keys are: "int" or "str"; None while there are none."""
        kinds = (shard.index.kind for shard in self._shards.values())
        return next((kind for kind in kinds if kind is not None), None)

    def keys(self) -> npt.NDArray[Any]:
        """Return all keys, shard by shard, in the order in which they came."""
        found = [shard.index.keys() for shard in self._shards.values() if len(shard.index)]
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
        shard, slot = found
        return shard.known(slot)

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
            return ranked(list(self._shards.values()), by, start, end)

    def _find(self, key: object) -> tuple[Shard, int] | None:
        """Return the shard and the slot of a key; with parents, any shard may hold it."""
        for shard in self._shards.values():
            if len(shard.index):
                slot = int(shard.index.slots([key])[0])
                if slot >= 0:
                    return shard, slot
        return None

    # -- forgetting -----------------------------------------------------------------------------

    def evict(self, idle: float | timedelta | str, now: Time | None = None) -> int:
        """Forget the keys that were predicted last longer ago than `idle`; return how many.

        In predictions of the key's shard, or in the time of ``predict(..., at=...)`` if `now` says
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
            return sum(shard.evict(span.length, time) for shard in self._shards.values())

    def expire(self, *, older_than: int | None = None, before: Time | None = None) -> list[Id]:
        """Give up waiting for old predictions; return their ids.

        Their outcomes, should they still come, are refused as expired.

        Parameters
        ----------
        older_than : int, optional
            Those made more than so many predictions of their shard ago.
        before : number or date and time, optional
            Those made with an earlier time, ``predict(..., at=...)``.
        """
        self._check_open()
        if (older_than is None) == (before is None):
            raise ValueError("expire() takes older_than, an integer, or before, a time")
        with self._lock:
            shards = list(self._shards.values())
            if before is not None:
                time = time_of(before, "before")
                return [name for shard in shards for name in shard.book.expire(before=time)]
            age = check_integer("older_than", older_than, 0)
            return [
                name
                for shard in shards
                for name in shard.book.expire(number=shard.kernel.rounds - age)
            ]

    def forget_ids(self) -> int:
        """Forget all ids: what waits is given up, and every id may be used anew.

        For a fleet that goes on where ids are given by somebody else. Returns how many waited.
        """
        self._check_open()
        with self._lock:
            return sum(shard.book.forget() for shard in self._shards.values())

    def _check_open(self) -> None:
        if self._is_open:
            raise ValueError("this fleet was opened for reading only; Fleet.load reads it to go on")
