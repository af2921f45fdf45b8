"""Interval against its slow reference, and what the paper proves of it."""

import math

import numpy as np
import pytest

from calibrant import Interval
from calibrant.forecasters.interval import CONSTANTS
from calibrant.partitions import uniform
from forecasters.cases import partition, stream
from naive.interval import interval


def assert_same(forecaster, outcomes, edges_for):
    """The forecaster and its twin draw the same and weigh the same to 1e-9."""
    constants = CONSTANTS[forecaster.constants]
    predictions, twins, weights = interval(
        outcomes, edges_for, forecaster.horizon, constants, forecaster.seed
    )
    drawn, distributions = forecaster.trace(outcomes)
    assert drawn.tolist() == predictions
    for (points, shares), (twin_points, twin_shares) in zip(distributions, twins, strict=True):
        assert points.tolist() == list(twin_points)
        # Ratios of differences of weights, which may be a million times smaller than the weights.
        assert shares.tolist() == pytest.approx(list(twin_shares), abs=1e-6)
    w = forecaster._get_state()["w"]
    assert np.concatenate([w[::2], w[1::2]]) == pytest.approx(weights, abs=1e-9)


@pytest.mark.parametrize("constants", ["paper", "tuned"])
@pytest.mark.parametrize("number", range(40))
def test_agrees_with_its_twin(number, constants):
    cut = partition(number)
    horizon = int(10 ** (2 + number % 5))
    forecaster = Interval(partition=cut, horizon=horizon, constants=constants, seed=number)
    assert_same(forecaster, stream(number, 200), lambda _: cut.edges)


@pytest.mark.parametrize("constants", ["paper", "tuned"])
@pytest.mark.parametrize("number", range(4))
def test_agrees_with_its_twin_over_blocks(number, constants):
    forecaster = Interval(constants=constants, seed=number)
    intervals = {64: 4, 512: 8, 4096: 16}
    # 64 and 512 rounds are two blocks; the rest is in the third.
    assert_same(forecaster, stream(number, 700), lambda T: uniform(intervals[T]).edges)


def test_rates_fall_as_in_the_twin():
    """Few experts and large gains, for rates to leave their cap, 1/16: that takes 256 ln(dT)."""
    forecaster = Interval(1, horizon=20, seed=5)
    assert_same(forecaster, stream(1, 5000), lambda _: [0, 1])
    assert forecaster._get_state()["V"].max() > 256 * math.log(2 * 20)


@pytest.mark.parametrize("number", range(20))
def test_no_outcome_pays_the_experts(number):
    """max over y of the expected gain of the weighted experts is at most 0, to rounding."""
    cut = partition(number)
    edges = np.array(cut.edges)
    forecaster = Interval(partition=cut, horizon=1000, seed=number)
    for y in stream(number, 300):
        w = forecaster._get_state()["w"]
        phi = w[::2] - w[1::2]
        points, shares = forecaster.distribution()
        intervals = [int(np.flatnonzero(edges[1:] == point)[0]) for point in points]
        u = edges[intervals[-1]]
        if len(intervals) == 1:
            u = edges[-1] if phi[-1] <= 0 and intervals[0] == len(cut) - 1 else edges[0]
        for outcome in (0.0, 0.5, 1.0):
            assert (shares * phi[intervals]).sum() * (u - outcome) <= 1e-15
        forecaster.update(y)


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5, 0.85])
def test_intervals_far_from_the_mean_are_left_alone(mean):
    """Lemma `visit_number_control_Cal1_main`: n_J is of order iota / d_J^2, whatever T.

    Of the rounds P_t spends on J, M on average, those with the true mean on one side earn one
    expert at least d M, less the noise: sums of bounded martingale differences with variance M/4
    stay below sqrt(M iota/2) + iota/3 (Freedman). The experts' regret lets it earn at most
    ln(dT)/eta + 0.53 eta M with eta = 1/16 as long as the rate is at its cap, which is
    16 ln(dT) + M/30. For d >= 1/15 the last term takes half of d M at most, and then
    d M / 2 <= 16 ln(dT) + iota/3 + sqrt(M iota/2) gives
    M <= 4 (16 ln(dT) + iota)/d + 8 iota/d^2; n is at most M + sqrt(2 M iota) + iota.
    """
    intervals = 20
    edges = np.linspace(0, 1, intervals + 1)
    d = np.maximum(np.maximum(edges[:-1] - mean, mean - edges[1:]), 0)
    far = d >= 1 / 15
    for T in (10_000, 40_000, 160_000):
        outcomes = np.random.default_rng([T, int(100 * mean)]).random(T) < mean
        predictions = Interval(intervals, horizon=T, seed=1).run(outcomes)
        n = np.array([(predictions == z).sum() for z in uniform(intervals).edges[1:]])
        iota, log_dT = math.log(T / 0.001), math.log(2 * intervals * T)
        M = 4 * (16 * log_dT + iota) / d[far] + 8 * iota / d[far] ** 2
        assert (n[far] <= M + np.sqrt(2 * M * iota) + iota).all()


def test_intervals_for_a_deviation():
    T, C, delta = 100_000, 50.0, 0.01
    iota = math.log(T / delta)
    first = math.sqrt(T / (iota * math.log(T)))
    second = (T**2 / (iota * (1 + C) * math.log(T))) ** (1 / 3)
    assert second > first
    assert Interval.for_deviation(C, T, delta=delta).intervals == math.ceil(first)
    second = (T**2 / (iota * (1 + T) * math.log(T))) ** (1 / 3)
    assert Interval.for_deviation(T, T, delta=delta).intervals == math.ceil(second)
    assert Interval.for_deviation(0, 2).intervals == 1
    again = Interval.for_deviation(3, 50, constants="paper", seed=4)
    assert (again.horizon, again.constants, again.seed) == (50, "paper", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 100), "deviation must be a number in"),
        ((101, 100), "deviation must be a number in"),
        ((1, 1), "horizon must be an integer in"),
    ],
)
def test_bad_deviations(arguments, message):
    with pytest.raises(ValueError, match=message):
        Interval.for_deviation(*arguments)
    with pytest.raises(ValueError, match="delta must be a number in"):
        Interval.for_deviation(1, 100, delta=0)
