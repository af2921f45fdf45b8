"""A distribution of quantiles: every reading of it agrees with the others, and with integrals."""

import numpy as np
import pytest

from calibrant.measures.numbers import (
    chi_squared_tail,
    crps,
    interval_score,
    pinball,
    pit,
    pit_histogram,
)
from calibrant.recalibrate import Distribution

LEVELS = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
RANDOM = np.random.default_rng(0)
VALUES = np.sort(RANDOM.normal(size=len(LEVELS)))


def test_cdf_and_quantile_are_inverse():
    distribution = Distribution(LEVELS, VALUES)
    p = np.linspace(0.001, 0.999, 500)
    assert np.allclose(distribution.cdf(distribution.quantile(p)), p)
    assert np.array_equal(distribution.quantile(LEVELS), VALUES)


def test_mean_and_crps_are_the_integrals():
    """By the trapezium rule over 2 million probabilities."""
    distribution = Distribution(LEVELS, VALUES)
    p = (np.arange(2_000_000) + 0.5) / 2_000_000
    q = distribution.quantile(p)
    assert distribution.mean == pytest.approx(q.mean(), abs=1e-4)
    for y in (-4.0, VALUES[0], 0.0, 0.7, 5.0):
        loss = np.where(y < q, (1 - p) * (q - y), p * (y - q))
        assert distribution.crps(y) == pytest.approx(2 * loss.mean(), abs=1e-4)


def test_crps_of_a_logistic_distribution():
    """The quantile function of the logistic distribution is straight in the logit everywhere."""
    logistic = Distribution(LEVELS, np.log(LEVELS / (1 - LEVELS)))
    for y in (-3.0, 0.0, 1.5):
        # Jordan, Krueger and Lerch (2019), scoringRules: y - 2 log F(y) - 1.
        exact = y - 2 * np.log(1 / (1 + np.exp(-y))) - 1
        assert logistic.crps(y) == pytest.approx(exact, abs=1e-12)
    assert logistic.mean == pytest.approx(0.0, abs=1e-12)


def test_many_are_each():
    rows = np.sort(RANDOM.normal(size=(5, len(LEVELS))), axis=1)
    many = Distribution(LEVELS, rows)
    y = RANDOM.normal(size=5)
    for row in range(5):
        one = Distribution(LEVELS, rows[row])
        assert many[row] == one
        assert many.median[row] == one.median
        assert many.mean[row] == pytest.approx(one.mean)
        assert many.cdf(y)[row] == pytest.approx(one.cdf(y[row]))
        assert many.crps(y)[row] == pytest.approx(one.crps(y[row]))
        assert many.interval(0.8)[1][row] == one.interval(0.8)[1]
    assert len(list(many)) == 5
    assert many.sample(3).shape == (5, 3)


def test_draws_follow_the_distribution():
    distribution = Distribution(LEVELS, VALUES, seed=3)
    drawn = distribution.sample(20_000)
    assert np.array_equal(drawn, distribution.sample(20_000))
    # The share below a level has a standard deviation of 0.0035 at most.
    for level, value in zip(LEVELS, VALUES, strict=True):
        assert (drawn <= value).mean() == pytest.approx(level, abs=0.015)


def test_infinite_quantiles_are_shown_as_such():
    values = np.array([-np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, np.inf, np.inf, np.inf])
    distribution = Distribution(LEVELS, values)
    assert distribution.interval(0.98) == (-np.inf, np.inf)
    assert distribution.median == 0.5
    assert np.isfinite(distribution.mean)
    assert distribution.crps(0.0) == np.inf
    assert 0.1 <= distribution.cdf(0.0) <= 0.5
    assert not np.isnan(distribution.quantile(np.linspace(0.001, 0.999, 99))).any()


def test_ties_and_points():
    point = Distribution(LEVELS, np.zeros(len(LEVELS)))
    assert (point.median, point.mean, point.crps(0.0), point.crps(2.0)) == (0.0, 0.0, 0.0, 2.0)
    assert point.cdf(1.0) == 1.0
    assert point.cdf(-1.0) == 0.0
    drawn = pit(np.zeros((1000, len(LEVELS))), LEVELS, np.zeros(1000), seed=1)
    assert pit_histogram(drawn, 10).p_value > 0.001


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, "a", None, float("nan")])
def test_bad_levels(bad):
    with pytest.raises(ValueError, match="level must be inside"):
        Distribution(LEVELS, VALUES).quantile(bad)
    with pytest.raises(ValueError, match="coverage"):
        Distribution(LEVELS, VALUES).interval(bad)


def test_measures_by_hand():
    q = np.array([[0.0, 2.0], [0.0, 2.0]])
    assert pinball(q, [0.25, 0.75], [1.0, 3.0]) == pytest.approx((0.25 + 0.25 + 0.75 + 0.75) / 4)
    assert interval_score(q[:, 0], q[:, 1], [1.0, 3.0], 0.5) == pytest.approx((2 + 2 + 4) / 2)
    assert crps(q, [0.25, 0.75], [1.0, 1.0]) == pytest.approx(
        Distribution([0.25, 0.75], [0, 2]).crps(1.0)
    )
    # Tables of the chi-squared distribution at 5%.
    for freedom, x in ((1, 3.841), (2, 5.991), (7, 14.067), (20, 31.410)):
        assert chi_squared_tail(x, freedom) == pytest.approx(0.05, abs=1e-4)


def test_pit_is_flat_where_all_is_right_and_not_where_it_is_narrow():
    y = np.random.default_rng(1).logistic(size=4000)
    right = np.tile(np.log(LEVELS / (1 - LEVELS)), (4000, 1))
    assert pit_histogram(pit(right, LEVELS, y)).p_value > 0.01
    narrow = pit_histogram(pit(0.7 * right, LEVELS, y))
    assert narrow.p_value < 1e-6
    assert narrow.counts[0] > 1.3 * 200 < narrow.counts[-1]
