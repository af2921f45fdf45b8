"""Which keys of a fleet have the most of something: outcomes, or trouble."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant.fleet.known import KnownKey
from calibrant.fleet.shard import Shard

#: Columns of `Level.all_known`.
MADE, LEARNED, OFFSET, DEVIATION = range(4)


def trouble(known: Floats) -> Floats:
    """Return how clearly each key differs from the whole, in standard deviations."""
    size, deviation = np.abs(known[:, OFFSET]), known[:, DEVIATION]
    is_known = (known[:, LEARNED] > 0) & (deviation > 0)
    return np.divide(size, deviation, out=np.zeros(len(known)), where=is_known)


RANKINGS: dict[str, Callable[[Floats], Floats]] = {
    "trouble": trouble,
    "outcomes": lambda known: known[:, LEARNED],
    "predictions": lambda known: known[:, MADE],
}


def ranked(shards: Sequence[Shard], by: str, start: int, end: int) -> list[tuple[Id, KnownKey]]:
    """Return keys from place `start` to `end`, and what is known of them."""
    tables = [shard.kernel.keys.all_known() for shard in shards]
    first = np.cumsum([0, *(len(table) for table in tables)])
    known = np.concatenate(tables)
    rows = largest(RANKINGS[by](known), end)[start:]
    keys = np.empty(len(rows), dtype=object)
    owner = np.searchsorted(first, rows, side="right") - 1
    for number in np.unique(owner).tolist():
        own = owner == number
        keys[own] = shards[number].index.keys_at(rows[own] - first[number])
    return [
        (key, KnownKey(int(made), int(learned), *numbers))
        for key, (made, learned, *numbers) in zip(keys.tolist(), known[rows].tolist(), strict=True)
    ]


def largest(values: Floats, count: int) -> npt.NDArray[np.int64]:
    """Return where the largest values are, equals in their order."""
    candidates = np.arange(len(values))
    if 0 < count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        candidates = np.flatnonzero(values >= least)
    return candidates[np.argsort(-values[candidates], kind="stable")][:count]
