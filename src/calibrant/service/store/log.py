"""Two tables, each in order, as one log of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from calibrant.service.store.records import LoggedOutcomes, LoggedPredictions

#: Rows of a table, some thousands at a time. The first field is the batch.
Portions = Iterable[list[tuple[Any, ...]]]
T = TypeVar("T")


def merged(
    predictions: Portions, outcomes: Portions
) -> Iterator[LoggedPredictions | LoggedOutcomes]:
    """Return the batches of both in the order in which they were written."""
    one = batches(predictions, LoggedPredictions._make)
    other = batches(outcomes, LoggedOutcomes._make)
    first, second = next(one, None), next(other, None)
    while first is not None or second is not None:
        if second is None or (first is not None and first[0] < second[0]):
            assert first is not None
            yield first[1]
            first = next(one, None)
        else:
            yield second[1]
            second = next(other, None)


def batches(portions: Portions, make: Callable[[Iterable[Any]], T]) -> Iterator[tuple[int, T]]:
    """Return each batch with its number, in columns; a portion may end within a batch."""
    rows: list[tuple[Any, ...]] = []
    for portion in portions:
        rows += portion
        numbers, *columns = zip(*rows, strict=True)
        start = 0
        for end in (np.flatnonzero(np.diff(numbers)) + 1).tolist():
            yield numbers[start], make([column[start:end] for column in columns])
            start = end
        rows = rows[start:]
    if rows:
        numbers, *columns = zip(*rows, strict=True)
        yield numbers[0], make(columns)
