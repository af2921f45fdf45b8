"""Outcomes are used only by predictions made after they were known."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Recalibrator
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables import Scored
from naive.arrivals import late_rows, late_streams, recalibrated


@given(late_streams(), st.booleans())
def test_predictions_are_those_of_the_slow_twin(stream, in_groups):
    scores, outcomes, times, available = stream
    by = ["ab"[row % 2] for row in range(len(times))] if in_groups else None
    rows = late_rows(scores, outcomes, times, available, by)
    fast, *_ = recalibrate_rows(Recalibrator(seed=3), rows)
    assert fast.tolist() == recalibrated(scores, outcomes, times, available, seed=3, by=by)


@given(late_streams(), st.data())
def test_an_outcome_changes_nothing_said_until_it_is_available(stream, data):
    scores, outcomes, times, available = stream
    row = data.draw(st.integers(0, len(times) - 1))
    outcomes = np.nan_to_num(outcomes, nan=0.5)
    other = outcomes.copy()
    other[row] = 1.0 - outcomes[row] if outcomes[row] != 0.5 else 1.0
    rows, others = (late_rows(scores, y, times, available) for y in (outcomes, other))
    before, *_ = recalibrate_rows(Recalibrator(), rows)
    after, *_ = recalibrate_rows(Recalibrator(), others)
    for at, time in enumerate(times):
        if math.isnan(available[row]) or available[row] >= time:
            assert before[at] == after[at]


def test_a_known_outcome_does_change_later_predictions():
    scores, times = np.full(40, 0.5), list(range(40))
    ones, zeros = (
        recalibrate_rows(
            Recalibrator(), late_rows(scores, y, times, [t + 3 for t in times])
        ).predictions
        for y in (np.ones(40), np.zeros(40))
    )
    assert ones[:4].tolist() == zeros[:4].tolist()  # row 0 is known after time 3, to row 4 first
    assert ones[30] > 0.6
    assert zeros[30] < 0.4


def test_at_once_is_what_run_gives():
    random = np.random.default_rng(1)
    scores, outcomes = random.random(500), (random.random(500) < 0.3).astype(float)
    groups = random.integers(0, 3, 500).tolist()
    for by in (None, groups):
        rows = Scored(scores, outcomes, "y", None, None, None, by, None)
        fast, *_ = recalibrate_rows(Recalibrator(seed=2), rows)
        assert fast.tolist() == Recalibrator(seed=2).run(scores, outcomes, by=by).tolist()
        late = recalibrated(scores, outcomes, range(500), range(500), seed=2, by=by)
        assert fast.tolist() == late


def test_what_never_arrives_is_predicted_and_not_learned():
    scores, outcomes = np.array([0.2, 0.4, 0.6]), np.array([1.0, math.nan, 0.0])
    rows = Scored(scores, outcomes, "y", None, None, None, None, None)
    predictions, *_ = recalibrate_rows(Recalibrator(), rows)
    twin = Recalibrator()
    expected = [twin.predict(0.2)]
    twin.update(1)
    expected += [twin.predict(0.4), twin.predict(0.6)]
    assert predictions.tolist() == expected
