import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.measures import (
    cal1,
    cutoff_calibration,
    decision_loss,
    step_calibration,
    u_calibration,
)
from measures.strategies import LEVELS, repeatable, rounds
from naive import measures as naive


def residual_between(data, low, high):
    return sum(y - p for p, y in zip(*data, strict=True) if low <= p <= high)


@given(data=rounds())
@repeatable
def test_step_calibration_tries_every_threshold(data):
    expected = max((abs(residual_between(data, 0.0, v)) for v in data[0]), default=0.0)
    assert step_calibration(*data) == pytest.approx(expected, abs=1e-9)


@given(data=rounds())
@repeatable
def test_cutoff_calibration_tries_every_interval(data):
    ends = itertools.combinations_with_replacement(sorted(set(data[0])), 2)
    expected = max((abs(residual_between(data, *pair)) for pair in ends), default=0.0)
    assert cutoff_calibration(*data) == pytest.approx(expected, abs=1e-9)


@given(data=rounds())
@repeatable
def test_order_of_the_cumulative_measures(data):
    step, cutoff = step_calibration(*data), cutoff_calibration(*data)
    assert step <= cutoff + 1e-9
    assert cutoff <= 2 * step + 1e-9
    assert cutoff <= cal1(*data) + 1e-9


@given(data=rounds(low=1, prediction=st.sampled_from(LEVELS)))
@repeatable
def test_u_calibration_tries_every_kink(data):
    # The regret as a function of the kink v jumps at predictions, so it is enough to look just
    # beside them and at the ends; 1e-9 aside moves a sum of T losses by at most 2e-9 T.
    beside = [p + step for p in LEVELS for step in (-1e-9, 1e-9)]
    regrets = [naive.v_regret(*data, v) for v in beside]
    assert u_calibration(*data) == pytest.approx(max(0.0, *regrets), abs=1e-7)


@given(data=rounds(low=1))
@repeatable
def test_no_kink_regrets_more_than_u_calibration(data):
    for v in (0.0123 + i / 50 for i in range(49)):
        assert naive.v_regret(*data, v) <= u_calibration(*data) + 1e-9


@given(data=rounds())
@repeatable
def test_u_calibration_is_at_most_twice_the_decision_loss(data):
    # A V-shaped loss in [-1, 1] is twice one in [0, 1] less a constant, and swap regret is at
    # least the regret to the best constant.
    assert u_calibration(*data) <= 2 * decision_loss(*data) + 1e-9


def test_no_rounds():
    assert step_calibration([], []) == cutoff_calibration([], []) == u_calibration([], []) == 0.0
