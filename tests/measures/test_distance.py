import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.measures import lower_distance, smooth_calibration
from measures.strategies import repeatable_slow, rounds
from naive import measures as naive

binary = st.sampled_from([0.0, 1.0])


@given(data=rounds(low=1, high=6, outcome=binary))
@repeatable_slow
def test_is_within_the_known_error_of_a_fine_grid_of_targets(data):
    # With the predictions among the targets and gaps of at most h, a mass M at a target u between
    # neighbours g < u < g' can be split between them, staying calibrated, at an extra cost of
    # 2 M (u - g)(g' - u) <= M h^2 / 2. So the grid is above the truth by at most T h^2 / 2.
    targets = sorted(set(data[0]) | set(np.arange(41) / 40))
    on_grid = naive.lower_distance_on(*data, targets)
    got = lower_distance(*data)
    assert got <= on_grid + 1e-6
    assert got >= on_grid - len(data[0]) / 40**2 / 2 - 1e-6


@given(data=rounds(low=1, high=6, outcome=binary))
@repeatable_slow
def test_is_at_most_the_best_grouping_of_rounds(data):
    assert lower_distance(*data) <= naive.lower_distance_by_groups(*data) + 1e-6


def test_a_target_between_predictions_is_found_exactly():
    # A pair with u of the one moving from 0.1 and 1 - u of the zero from 0.4 costs
    # 2 u^2 - 1.5 u + 0.4; ones and zeros are in equal number here, so u = 1/2 and the cost is
    # 0.4 + 0.1 a pair of rounds, which is also the best grouping. 1/2 is no prediction.
    data = [0.1, 0.4], [1, 0]
    assert naive.lower_distance_by_groups(*data) == pytest.approx(0.5)
    assert lower_distance(*data) == pytest.approx(0.5, abs=1e-7)
    # Three zeros to a one: all meet at 1/4, at a cost of 0.15 for each of four.
    data = [0.1, 0.4, 0.4, 0.4], [1, 0, 0, 0]
    assert lower_distance(*data) == pytest.approx(0.6, abs=1e-7)


@given(data=rounds(low=1, high=12))
@repeatable_slow
def test_is_within_a_factor_of_two_of_smooth_calibration(data):
    smooth = smooth_calibration(*data)
    distance = lower_distance(*data)
    assert smooth / 2 - 1e-6 <= distance <= 2 * smooth + 1e-6


@given(data=rounds(low=1, high=10))
@repeatable_slow
def test_a_grid_errs_by_no_more_than_it_says(data):
    for grid in (4, 25):
        off = abs(lower_distance(*data, grid=grid) - lower_distance(*data))
        assert off <= len(data[0]) / (2 * grid) + 1e-6


def test_a_fractional_outcome_is_a_mass_of_ones_and_zeros():
    fractional = lower_distance([0.3, 0.3, 0.6], [0.5, 0.5, 0.25])
    binary = lower_distance([0.3] * 8 + [0.6] * 4, [1, 0] * 4 + [1, 0, 0, 0])
    assert 4 * fractional == pytest.approx(binary, abs=1e-6)


def test_calibrated_predictions_are_at_distance_zero():
    assert lower_distance([], []) == 0.0
    assert lower_distance([0.5, 0.5, 1.0, 0.0], [1, 0, 1, 0]) == pytest.approx(0.0, abs=1e-8)


def test_too_many_predictions_are_refused_unless_on_a_grid():
    predictions = np.arange(300) / 300
    outcomes = np.arange(300) % 2
    with pytest.raises(ValueError, match="at most 200 distinct values .* got 300; grid=200"):
        lower_distance(predictions, outcomes)
    assert lower_distance(predictions, outcomes, grid=20) > 0.0
    with pytest.raises(ValueError, match=r"grid must be an integer in \[1, 200\], got 0"):
        lower_distance(predictions, outcomes, grid=0)


def test_without_scipy_the_message_says_what_to_install(monkeypatch):
    import_anything = builtins.__import__

    def import_no_scipy(name, *args, **kwargs):
        if name.startswith("scipy"):
            raise ImportError(name)
        return import_anything(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_no_scipy)
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[lp\]'"):
        lower_distance([0.5], [1])
