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


def test_a_target_that_is_no_prediction_is_found():
    # Three zeros to a one: all meet at 1/4, at a cost of 0.15 for each of four.
    data = [0.1, 0.4, 0.4, 0.4], [1, 0, 0, 0]
    assert lower_distance(*data) == pytest.approx(0.6, abs=1e-7)
    assert naive.lower_distance_on(*data, [0.0, 0.1, 0.4, 1.0]) > 0.61


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_program_over_masses_on_streams(seed):
    # Only predictions as targets, so an upper bound; the gap is what a target between two
    # predictions 1/30 apart can save, at most T h^2 / 2 = 0.067.
    rng = np.random.default_rng(seed)
    predictions = rng.integers(0, 31, 120) / 30
    outcomes = (rng.random(120) < np.clip(1.2 * predictions - 0.3, 0, 1)).astype(float)
    on_grid = naive.lower_distance_on(predictions.tolist(), outcomes.tolist(), np.arange(31) / 30)
    assert on_grid - 120 / 30**2 / 2 <= lower_distance(predictions, outcomes) <= on_grid + 1e-6


@given(data=rounds(low=1, high=12))
@repeatable_slow
def test_is_within_a_factor_of_two_of_smooth_calibration(data):
    smooth = smooth_calibration(*data)
    distance = lower_distance(*data)
    assert smooth / 2 - 1e-6 <= distance <= 2 * smooth + 1e-6


@given(data=rounds(low=1, high=8))
@repeatable_slow
def test_a_grid_errs_by_no_more_than_it_says(data):
    exact = lower_distance(*data)
    for grid in (4, 25):
        off = abs(lower_distance(*data, grid=grid) - exact)
        assert off <= len(data[0]) / (2 * grid) + 1e-6


def test_a_fractional_outcome_is_a_mass_of_ones_and_zeros():
    fractional = lower_distance([0.3, 0.3, 0.6], [0.5, 0.5, 0.25])
    binary = lower_distance([0.3] * 8 + [0.6] * 4, [1, 0] * 4 + [1, 0, 0, 0])
    assert 4 * fractional == pytest.approx(binary, abs=1e-6)


def test_calibrated_predictions_are_at_distance_zero():
    assert lower_distance([], []) == 0.0
    assert lower_distance([0.5, 0.5, 1.0, 0.0], [1, 0, 1, 0]) == pytest.approx(0.0, abs=1e-8)


def test_too_many_predictions_are_refused_unless_on_a_grid():
    predictions = np.arange(6000) / 6000
    outcomes = np.arange(6000) % 2
    with pytest.raises(ValueError, match=r"at most 5000 distinct values .* got 6000; grid=1000"):
        lower_distance(predictions, outcomes)
    assert lower_distance(predictions, outcomes, grid=20) > 0.0
    with pytest.raises(ValueError, match=r"grid must be an integer in \[1, 5000\], got 0"):
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
