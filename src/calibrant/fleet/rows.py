"""The rows of a batch, checked before anything changes, and dealt out to the shards of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_listed, as_series, check_id, check_same_length
from calibrant._kernels.fleet.key_batch import KeyBatch, checked_keys, shards_of
from calibrant._times import times_or_one
from calibrant.fleet.shard import Rows

Integers = npt.NDArray[np.int64]


class Dealt(NamedTuple):
    """The rows of a batch that belong to one shard: where they stood, and what they hold."""

    shard: int
    at: Integers | slice
    rows: Rows


class Batch:
    """Rows in their order, and the shard of each."""

    def __init__(
        self,
        kind: str,
        shards: int,
        keys: object,
        scores: object,
        at: object,
        parents: object,
        missing: bool = False,
    ) -> None:
        self.keys = checked_keys(keys)
        size = len(self.keys)
        self.scores = as_scores(kind, scores, size, missing)
        if at is None:
            self.times = np.broadcast_to(np.nan, size)
        else:
            self.times = np.array(times_or_one(at, size))
        self.parents = None if parents is None else as_parents(parents, size)
        self.shards = shards

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def rows(self) -> Rows:
        """All rows, as one shard would have them."""
        return Rows(self.keys, self.parents, self.scores, self.times)

    def shard_numbers(self) -> Integers:
        """Return the shard of each row: that of its parent, if it has one."""
        owners = self.keys if self.parents is None else self.parents
        return shards_of(owners.hashes(), self.shards)

    def dealt(self) -> Iterator[Dealt]:
        """Return the rows of each shard that has some, in their order."""
        if self.shards == 1:
            yield Dealt(0, slice(None), self.rows)
            return
        numbers = self.shard_numbers()
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            yield Dealt(number, at, self.rows.take(at))


def as_scores(kind: str, scores: object, size: int, missing: bool) -> Floats:
    """Return a copy of the scores, checked; without scores, one that says nothing a row.

    NaN is none of them unless some may be `missing`.
    """
    if scores is None:
        return np.full(size, 0.5 if kind == "probability" else 0.0)
    series = np.array(as_series(scores, "scores"), dtype=np.float64)
    check_same_length("keys", size, "scores", len(series))
    is_probability = kind == "probability"
    fits = (series >= 0.0) & (series <= 1.0) if is_probability else np.isfinite(series)
    if missing:
        fits |= np.isnan(series)
    if not fits.all():
        position = int((~fits).argmax())
        allowed = "a number in [0, 1]" if is_probability else "a finite number"
        raise ValueError(
            f"scores must each be {allowed} (kind={kind!r}), got {float(series[position])!r} "
            f"at position {position}"
        )
    return series


def as_parents(parents: object, size: int) -> KeyBatch:
    """Return the parents of the keys, checked."""
    try:
        batch = checked_keys(parents)
    except ValueError as error:
        raise ValueError(f"parents: {error}") from None
    check_same_length("keys", size, "parents", len(batch))
    return batch


def taken(values: list[Any], at: Integers | slice) -> list[Any]:
    """Return some of the values of a list."""
    return values if isinstance(at, slice) else [values[row] for row in at.tolist()]


def sliceable(column: Any) -> Any:
    """Return a column whose slices are rows."""
    is_list = column is None or isinstance(column, list | tuple | range)
    return column if is_list else np.asarray(column)


def listed_names(ids: object) -> list[Id | None]:
    """Return the ids of rows of which some may have none."""
    names: list[Id | None] = as_listed(ids, "ids", "a sequence of ids, one per row")
    for position, name in enumerate(names):
        if type(name) is not str and name is not None:
            try:
                names[position] = check_id(name)
            except ValueError as error:
                raise ValueError(f"{error} at position {position}") from None
    return names
