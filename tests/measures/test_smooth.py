import numpy as np
import pytest
from hypothesis import given, settings

from calibrant.measures import cal1, smece, smooth_calibration
from calibrant.measures.smooth_ece import _smoothed, _spectrum
from measures.strategies import repeatable, rounds
from naive import measures as naive


@given(data=rounds(high=15))
@repeatable
def test_smooth_calibration_equals_the_program(data):
    # The solver's tolerance is 1e-7 a constraint.
    expected = naive.smooth_calibration(*data)
    assert smooth_calibration(*data) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [40, 80])
def test_smooth_calibration_equals_the_program_on_long_streams(seed, size):
    rng = np.random.default_rng(seed)
    predictions = rng.random(size)
    # Errors that change sign quickly make a test trade its size off against its slope.
    chance = np.clip(predictions + 0.4 * np.sin(25 * predictions), 0, 1)
    outcomes = (rng.random(size) < chance).astype(float)
    expected = naive.smooth_calibration(predictions.tolist(), outcomes.tolist())
    assert smooth_calibration(predictions, outcomes) == pytest.approx(expected, abs=1e-6)


@given(data=rounds())
@repeatable
def test_smooth_calibration_is_at_most_cal1(data):
    assert 0.0 <= smooth_calibration(*data) <= cal1(*data) + 1e-9


def test_smooth_calibration_of_one_prediction_and_of_none():
    assert smooth_calibration([], []) == 0.0
    assert smooth_calibration([0.25, 0.25], [1, 1]) == 1.5
    # At distance 1 from each other, a test turns from 1 at 0 to 0 at 1, or from 1/2 to -1/2.
    assert smooth_calibration([0.0, 1.0], [1, 0]) == 1.0


@given(data=rounds(low=1, high=6))
@settings(repeatable, max_examples=20)
def test_smece_equals_quadrature(data):
    # The quadrature's own error: its bisection stops at 1e-6, its 20,000 bins resolve bandwidths
    # above 1e-3 or so; below, only the bracket of the documentation is asserted.
    got = smece(*data)
    assert 0.0 <= got <= cal1(*data) / len(data[0]) + 1e-9
    if got > 1e-3:
        assert got == pytest.approx(naive.smece(*data), rel=2e-4, abs=2e-6)


@pytest.mark.parametrize("sigma", [0.002, 0.01, 0.1, 1.0])
def test_the_smoothed_integral_is_as_accurate_as_promised(sigma):
    rng = np.random.default_rng(3)
    predictions = np.concatenate([[0.0, 1.0], rng.random(28)])
    outcomes = (rng.random(30) < predictions).astype(float)
    size = 2 ** int(np.ceil(np.log2(64 / sigma)))
    places = (np.arange(200_000) + 0.5) / 200_000
    expected = np.abs(naive.smoothed_residual(predictions, outcomes, sigma, places)).mean()
    spectrum = _spectrum(predictions, (outcomes - predictions) / 30, size)
    assert _smoothed(spectrum, sigma) == pytest.approx(expected, rel=1e-4)


def test_smece_on_many_rounds_falls_like_noise():
    # Calibrated: the smoothed residual at bandwidth s is noise of variance about
    # p(1-p) / (T s 2 sqrt(pi)), so its mean size is below sqrt(1 / (8 sqrt(pi) T s)) and the
    # fixed point below (1 / (8 sqrt(pi) T))^(1/3) = 0.0089 at T = 100,000.
    rng = np.random.default_rng(5)
    predictions = rng.random(100_000)
    outcomes = rng.random(100_000) < predictions
    assert 0.003 < smece(predictions, outcomes) < 0.0089


def test_smece_of_perfect_calibration_is_zero():
    assert smece([0.5, 0.5, 0.0, 1.0], [1, 0, 0, 1]) == 0.0


def test_smece_below_its_finest_grid_stays_in_its_bracket():
    # One prediction off by 1e-6: the exact answer is 1e-6 (cal1 / T, and the mean residual).
    outcomes = np.zeros(1_000_000)
    outcomes[:500_001] = 1.0
    assert smece(np.full(1_000_000, 0.5), outcomes) == pytest.approx(1e-6, rel=1e-5)
    # Two opposite errors far apart: they never meet, so the answer is cal1 / T = 1e-5.
    predictions = np.repeat([0.2, 0.8], 100)
    outcomes = predictions + np.repeat([1e-5, -1e-5], 100)
    assert smece(predictions, outcomes) <= 1e-5 * (1 + 1e-6)
