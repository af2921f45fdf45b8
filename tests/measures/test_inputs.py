"""What all measures of (predictions, outcomes) accept and refuse alike."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import measures

SUMS = [
    measures.cal1,
    measures.cal2,
    measures.klcal,
    measures.smooth_calibration,
    measures.lower_distance,
    measures.step_calibration,
    measures.cutoff_calibration,
    measures.u_calibration,
    measures.decision_loss,
]
MEANS = [
    measures.ece,
    measures.debiased_ece2,
    measures.smece,
    measures.brier,
    measures.log_loss,
    measures.murphy,
    measures.murphy_log,
    measures.two_bin_calibration,
]


@pytest.fixture(params=SUMS + MEANS, ids=lambda measure: measure.__name__)
def measure(request):
    return request.param


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, pl.Series, np.float32])
def test_any_one_dimensional_series_will_do(measure, kind):
    predictions, outcomes = [0.5, 0.25, 0.5, 0.75], [1, 0, 0, 1]
    assert measure(kind(predictions), kind(outcomes)) == measure(predictions, outcomes)


def test_views_and_booleans_will_do(measure):
    predictions = np.array([0.5, 9.0, 0.25, 9.0, 0.75, 9.0])[::2]
    outcomes = np.array([True, False, True])
    assert measure(predictions, outcomes) == measure([0.5, 0.25, 0.75], [1, 0, 1])


def test_the_order_of_rounds_does_not_matter(measure):
    rng = np.random.default_rng(1)
    predictions = rng.integers(0, 8, 60) / 8
    outcomes = (rng.random(60) < 0.4).astype(float)
    order = rng.permutation(60)
    shuffled = measure(predictions[order], outcomes[order])
    assert shuffled == pytest.approx(measure(predictions, outcomes), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("predictions", "outcomes", "message"),
    [
        ([0.5, 1.1], [1, 0], r"predictions must be in \[0, 1\], got 1.1 at position 1"),
        ([0.5, 0.5], [1, -0.1], r"outcomes must be in \[0, 1\], got -0.1 at position 1"),
        ([math.nan, 0.5], [1, 0], "predictions must be in .* got nan at position 0"),
        ([0.5, 0.5], [1, math.inf], "outcomes must be in .* got inf at position 1"),
        ([0.5, "a"], [1, 0], "predictions must be numbers .* 'a' .* at position 1"),
        ([0.5, None], [1, 0], "predictions must be numbers .* None .* at position 1"),
        ([0.5, 0.5], ["1", "0"], "outcomes must be numbers .* '1' .* at position 0"),
        ([0.5, 0.5], [1], "same length, got 2 and 1"),
        ([[0.5], [0.5]], [1, 0], r"predictions must be one-dimensional, got shape \(2, 1\)"),
        ([[0.5], [0.5, 1]], [1, 0], "predictions must be a one-dimensional array"),
        (0.5, 1, "predictions must be a one-dimensional array of numbers, got 0.5"),
        ("0.5", [1], "predictions must be a one-dimensional array of numbers, got '0.5'"),
        ([0.5 + 1j], [1], "predictions must be numbers"),
    ],
)
def test_bad_input_is_refused_with_its_place(measure, predictions, outcomes, message):
    with pytest.raises(ValueError, match=message):
        measure(predictions, outcomes)


@pytest.mark.parametrize("total", SUMS, ids=lambda measure: measure.__name__)
def test_a_sum_of_no_rounds_is_zero(total):
    assert total([], []) == 0.0


@pytest.mark.parametrize("mean", MEANS, ids=lambda measure: measure.__name__)
def test_a_mean_of_no_rounds_is_refused(mean):
    with pytest.raises(ValueError, match="at least one round"):
        mean([], [])


def test_inputs_are_left_alone(measure):
    predictions, outcomes = np.array([0.7, 0.2, 0.7]), np.array([1.0, 0.0, 0.5])
    measure(predictions, outcomes)
    assert predictions.tolist() == [0.7, 0.2, 0.7]
    assert outcomes.tolist() == [1.0, 0.0, 0.5]
