"""Truthful measures: against their definitions, and whether a lie pays."""

import itertools
import math

import numpy as np
import pytest

from calibrant.measures import (
    cal1,
    smooth_calibration,
    step_calibration,
    subsampled_smooth_calibration,
    subsampled_step_calibration,
    two_bin_calibration,
)
from naive import measures as naive

SUBSAMPLED = {
    subsampled_smooth_calibration: smooth_calibration,
    subsampled_step_calibration: step_calibration,
}


def rounds(number, size):
    random = np.random.default_rng(number)
    return np.round(random.random(size), 1), np.round(random.random(size), number % 3)


@pytest.mark.parametrize("number", range(12))
def test_two_bins_are_those_of_the_definition(number):
    predictions, outcomes = rounds(number, 1 + 3 * number)
    assert two_bin_calibration(predictions, outcomes) == pytest.approx(
        naive.two_bin_calibration(predictions.tolist(), outcomes.tolist()), abs=1e-14
    )


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("subsampled", SUBSAMPLED)
def test_halves_have_the_expectation_of_the_definition(subsampled, number):
    """A half of 8 rounds has at most 8: its mean over 4,000 is within 4 * 4/sqrt(4000) = 0.25."""
    predictions, outcomes = rounds(number, 8)
    expected = naive.subsampled(SUBSAMPLED[subsampled], predictions, outcomes)
    found = subsampled(predictions, outcomes, draws=4000, seed=number)
    assert found == pytest.approx(expected, abs=0.25)
    assert abs(found - SUBSAMPLED[subsampled](predictions, outcomes) / 2) < 1.0
    assert subsampled(predictions, outcomes, draws=7) == subsampled(predictions, outcomes, draws=7)
    assert subsampled([], []) == 0.0


def expectation(measure, predictions, truth):
    """Return the expected error of predictions where outcomes are drawn with these means."""
    total = 0.0
    for outcomes in itertools.product([0, 1], repeat=len(truth)):
        chances = [q if y else 1 - q for q, y in zip(truth, outcomes, strict=True)]
        total += math.prod(chances) * measure(predictions, outcomes)
    return total


TRUTH = (0.2, 0.5, 0.5, 0.6, 0.9)


def test_of_two_bins_the_truth_has_the_least_error():
    random = np.random.default_rng(0)
    honest = expectation(two_bin_calibration, TRUTH, TRUTH)
    lies = [np.clip(TRUTH + random.normal(0, 0.2, 5), 0, 1) for _ in range(50)]
    assert min(expectation(two_bin_calibration, lie, TRUTH) for lie in lies) > honest
    # Elsewhere it pays to say one number and hide the errors of the draws among each other.
    one = [np.mean(TRUTH)] * 5
    for measure, lie_pays in ((cal1, True), (two_bin_calibration, False)):
        honest, lying = (expectation(measure, told, TRUTH) for told in (TRUTH, one))
        assert (lying < honest) == lie_pays


@pytest.mark.parametrize("draws", [0, 1.5])
def test_draws_must_be_some(draws):
    with pytest.raises(ValueError, match="draws must be an integer"):
        subsampled_step_calibration([0.5], [1], draws=draws)
