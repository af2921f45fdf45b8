"""Two tables become one log of batches, wherever a portion that was fetched ends."""

import random

import pytest

from calibrant.service.store.log import merged
from calibrant.service.store.records import LoggedOutcomes, LoggedPredictions


def cut(rows, size):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_batches_come_whole_and_in_order(size):
    chance, sequence = random.Random(size), 0
    predictions, outcomes, expected = [], [], []
    for _ in range(60):
        first, count = sequence + 1, chance.choice((1, 1, 3, 20))
        sequence += count
        numbers = tuple(range(first, sequence + 1))
        if chance.random() < 0.5:
            rows = [
                (n, f"r{n}", 0.5, None, None, 1.0, None, n / 2, n / 3, None, None) for n in numbers
            ]
            predictions += [(first, *row) for row in rows]
            expected.append(LoggedPredictions._make(zip(*rows, strict=True)))
        else:
            rows = [(n, f"r{n}", 1.0, 2.0 * n) for n in numbers]
            outcomes += [(first, *row) for row in rows]
            expected.append(LoggedOutcomes._make(zip(*rows, strict=True)))
    found = list(merged(cut(predictions, size), cut(outcomes, size)))
    assert found == expected
    assert [*map(type, found)] == [*map(type, expected)]


def test_a_log_may_be_empty_or_have_predictions_only():
    assert list(merged([], [])) == []
    (batch,) = merged([[(1, 1, "a", 0.5, None, None, 0.0, None, 0.5, 0.5, None, None)]], [])
    assert batch.id == ("a",)
