"""Outcomes are used only by predictions made after they were known."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Recalibrator
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables import Table, take_scored
from naive.arrivals import late_streams, recalibrated


def table_of(scores, outcomes, times=None, available=None, by=None):
    """Return rows as the package takes them from a table; NaN is an empty cell."""
    columns = {"score": scores, "outcome": outcomes, "time": times, "available": available, "by": by}
    given = {name: list(column) for name, column in columns.items() if column is not None}
    for name in given.keys() & {"outcome", "available"}:
        given[name] = [None if math.isnan(cell) else cell for cell in given[name]]
    return take_scored(Table("memory", given), **{name: name for name in given}, text=False)


def predictions_of(recalibrator, *columns, **more):
    return recalibrate_rows(recalibrator, table_of(*columns, **more)).predictions.tolist()


@given(late_streams(), st.booleans())
def test_predictions_are_those_of_the_slow_twin(stream, in_groups):
    scores, outcomes, times, available = stream
    by = ["ab"[row % 2] for row in range(len(times))] if in_groups else None
    fast = predictions_of(Recalibrator(seed=3), *stream, by=by)
    assert fast == recalibrated(scores, outcomes, times, available, seed=3, by=by)


@given(late_streams(), st.data())
def test_an_outcome_changes_nothing_said_until_it_is_available(stream, data):
    scores, outcomes, times, available = stream
    row = data.draw(st.integers(0, len(times) - 1))
    outcomes = np.nan_to_num(outcomes, nan=0.5)
    other = outcomes.copy()
    other[row] = 1.0 - outcomes[row] if outcomes[row] != 0.5 else 1.0
    before = predictions_of(Recalibrator(), scores, outcomes, times, available)
    after = predictions_of(Recalibrator(), scores, other, times, available)
    for at, time in enumerate(times):
        if math.isnan(available[row]) or available[row] >= time:
            assert before[at] == after[at]


def test_a_known_outcome_does_change_later_predictions():
    scores, times = np.full(40, 0.5), list(range(40))
    available = [t + 3 for t in times]
    ones = predictions_of(Recalibrator(), scores, np.ones(40), times, available)
    zeros = predictions_of(Recalibrator(), scores, np.zeros(40), times, available)
    assert ones[:4] == zeros[:4]  # row 0 is known after time 3, to row 4 first
    assert ones[30] > 0.6
    assert zeros[30] < 0.4


def test_at_once_is_what_run_gives():
    random = np.random.default_rng(1)
    scores, outcomes = random.random(500), (random.random(500) < 0.3).astype(float)
    groups = random.integers(0, 3, 500).tolist()
    for by in (None, groups):
        fast = predictions_of(Recalibrator(seed=2), scores, outcomes, by=by)
        assert fast == Recalibrator(seed=2).run(scores, outcomes, by).tolist()
        assert fast == recalibrated(scores, outcomes, range(500), range(500), seed=2, by=by)


def test_what_never_arrives_is_predicted_and_not_learned():
    scores, outcomes = np.array([0.2, 0.4, 0.6]), np.array([1.0, math.nan, 0.0])
    recalibrator = Recalibrator()
    predictions = predictions_of(recalibrator, scores, outcomes)
    twin = Recalibrator()
    expected = [twin.predict(0.2)]
    twin.update(1)
    expected += [twin.predict(0.4), twin.predict(0.6)]
    assert predictions == expected
