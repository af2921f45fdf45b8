"""Two tables, each in order, as one log of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calibrant.service.store.interface import OutcomeRow, PredictionRow

#: The field that rows of one request share.
BATCH = PredictionRow._fields.index("batch")

Batch = list[PredictionRow] | list[OutcomeRow]


def batches(rows: Iterable[tuple[object, ...]], kind: type) -> Iterator[tuple[int, Batch]]:
    """Cut rows in order into batches, each with its number."""
    make = kind._make  # type: ignore[attr-defined]
    batch: list[tuple[object, ...]] = []
    number = -1
    for row in rows:
        if row[BATCH] != number:
            if batch:
                yield number, [make(each) for each in batch]
            batch, number = [], row[BATCH]  # type: ignore[assignment]
        batch.append(row)
    if batch:
        yield number, [make(each) for each in batch]


def merged(
    predictions: Iterable[tuple[object, ...]], outcomes: Iterable[tuple[object, ...]]
) -> Iterator[Batch]:
    """Return the batches of both in the order in which they were written."""
    one, other = batches(predictions, PredictionRow), batches(outcomes, OutcomeRow)
    nothing: tuple[float, Batch] = (float("inf"), [])
    first: tuple[float, Batch] = next(one, nothing)
    second: tuple[float, Batch] = next(other, nothing)
    while first[1] or second[1]:
        if first[0] < second[0]:
            yield first[1]
            first = next(one, nothing)
        else:
            yield second[1]
            second = next(other, nothing)
