"""Fitted exponents: known ones are found, and the interval covers them."""

import numpy as np
import pytest

from calibrant.experiments.fits import compare_growth, fit_growth
from naive import fits as naive

SIZES = [1_000, 3_162, 10_000, 31_623, 100_000]


def law(exponent, log_power, x=SIZES):
    x = np.array(x, dtype=float)
    return 7 * x**exponent * np.log(x) ** log_power


@pytest.mark.parametrize("exponent", [-0.2, 0.0, 1 / 3, 0.5, 1.0])
@pytest.mark.parametrize("log_power", [0.0, 0.5, 3.0])
def test_a_law_is_found(exponent, log_power):
    fit = fit_growth(SIZES, law(exponent, log_power)[:, None] * np.ones(3), log_power=log_power)
    assert fit.exponent == pytest.approx(exponent, abs=1e-9)
    assert fit.interval.low == pytest.approx(exponent, abs=1e-9)
    assert fit.interval.high == pytest.approx(exponent, abs=1e-9)
    assert fit.constant == pytest.approx(7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("log_power", [0.0, 2.0])
def test_it_is_what_a_search_finds(seed, log_power):
    errors = np.random.default_rng(seed).gamma(2.0, 10.0, size=(3, len(SIZES), 4))
    found = fit_growth(SIZES, errors, log_power=log_power)
    # The search ends where squares no longer differ in float64: at about the root of its epsilon.
    assert found.exponent == pytest.approx(naive.exponent(SIZES, errors, log_power), abs=1e-6)
    assert found.interval.low <= found.exponent <= found.interval.high


def test_the_worst_world_counts():
    slow, fast = law(0.1, 0), law(0.9, 0) / 1000
    both = np.stack([slow, fast])[:, :, None] * np.ones(2)
    worst = np.maximum(slow, fast)[:, None] * np.ones(2)
    assert fit_growth(SIZES, both) == fit_growth(SIZES, worst)


def test_the_interval_covers_as_often_as_it_says():
    covered, runs = 0, 200
    for seed in range(runs):
        noise = np.random.default_rng(seed).lognormal(0.0, 0.3, size=(len(SIZES), 20))
        # The mean of the noise is the same at every size, so the exponent is what it was.
        fit = fit_growth(SIZES, law(0.5, 0)[:, None] * noise)
        covered += fit.interval.low <= 0.5 <= fit.interval.high
    # 95% are promised; with 20 seeds a percentile bootstrap covers a little less, about 93%.
    # Of 200 runs at 93%, fewer than 172 happen with probability below 1e-3.
    assert 172 <= covered < runs


def test_seeds_are_resampled_whole():
    # Every seed has the same exponent and a height of its own: only the height is uncertain.
    errors = law(0.5, 0)[:, None] * np.array([1.0, 5.0, 25.0])
    fit = fit_growth(SIZES, errors)
    assert fit.interval.high - fit.interval.low < 1e-9


def test_the_same_on_each_run():
    errors = np.random.default_rng(0).gamma(2.0, size=(len(SIZES), 5))
    assert fit_growth(SIZES, errors) == fit_growth(SIZES, errors)


@pytest.mark.parametrize(
    ("x", "errors", "log_power", "message"),
    [
        ([10, 100], np.ones((3, 4)), 0, r"with 2 sizes, got the shape \(3, 4\)"),
        ([10, 100], np.ones(2), 0, r"got the shape \(2,\)"),
        ([10, 100], np.ones((2, 0)), 0, "got the shape"),
        ([10, 10], np.ones((2, 4)), 0, "two different sizes"),
        ([1, 10], np.ones((2, 4)), 1, "two different sizes"),
        ([0, 10], np.ones((2, 4)), 0, "two different sizes"),
        ([10, 100], np.zeros((2, 4)), 0, "above 0 on average"),
        ([10, 100], np.full((2, 4), np.nan), 0, "above 0 on average"),
    ],
)
def test_bad_arguments(x, errors, log_power, message):
    with pytest.raises(ValueError, match=message):
        fit_growth(x, errors, log_power=log_power)


def test_a_comparison_has_the_ratio_and_the_gap():
    errors, others = law(0.2, 0)[:, None] * np.ones(3), law(0.5, 0)[:, None] * np.ones(3)
    found = compare_growth(SIZES, 4 * errors, others)
    ratios = 4 * np.array(SIZES, dtype=float) ** -0.3
    assert found.level == pytest.approx(np.exp(np.log(ratios).mean()))
    assert found.last == pytest.approx(ratios[-1])
    assert found.gap == pytest.approx(-0.3)
    for value, interval in (
        (found.level, found.level_interval),
        (found.last, found.last_interval),
        (found.gap, found.gap_interval),
    ):
        assert interval == pytest.approx((value, value))


def test_a_comparison_takes_the_worst_world_of_each_side():
    slow, fast = law(0.1, 0), law(0.9, 0) / 1000
    both = np.stack([slow, fast])[:, :, None] * np.ones(2)
    worst = np.maximum(slow, fast)[:, None] * np.ones(2)
    assert compare_growth(SIZES, both, worst) == compare_growth(SIZES, worst, worst)
    assert compare_growth(SIZES, both, worst).level == 1.0


def test_outcomes_that_both_sides_share_cancel():
    """The seeds of both are resampled together: what they have in common is not noise."""
    noise = np.random.default_rng(4).gamma(1.0, size=(1, 8))
    errors = law(0.3, 0)[:, None] * noise
    found = compare_growth(SIZES, errors / 2, errors)
    assert found.level_interval == pytest.approx((0.5, 0.5))
    with pytest.raises(ValueError, match="the same seeds"):
        compare_growth(SIZES, errors[:, :4], errors)
