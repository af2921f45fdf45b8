"""Two tables, each in order, as one log of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from calibrant.service.store.interface import OutcomeRow, PredictionRow

Batch = list[PredictionRow] | list[OutcomeRow]
Row = tuple[Any, ...]

# As `_make` does, without a call of Python for each row.
make_prediction: Callable[[Row], PredictionRow] = partial(tuple.__new__, PredictionRow)
make_outcome: Callable[[Row], OutcomeRow] = partial(tuple.__new__, OutcomeRow)
#: The field that rows of one request share; it stands at the same place in both tables.
batch_of = itemgetter(PredictionRow._fields.index("batch"))


def merged(predictions: Iterable[Row], outcomes: Iterable[Row]) -> Iterator[Batch]:
    """Return the batches of both in the order in which they were written."""
    one, other = groupby(predictions, batch_of), groupby(outcomes, batch_of)
    first, second = next(one, None), next(other, None)
    while first is not None or second is not None:
        if second is None or (first is not None and first[0] < second[0]):
            assert first is not None
            yield list(map(make_prediction, first[1]))
            first = next(one, None)
        else:
            yield list(map(make_outcome, second[1]))
            second = next(other, None)
