"""The frequency of false alarms, which is bounded, and that a monitor detects what it should.

A monitor with `every` = A raises an alarm in n rounds with probability at most n / A = BOUND. The
probability of more than BOUND RUNS + 4 standard deviations among RUNS runs is below 4e-5 (normal
tail).
"""

import numpy as np
import pytest

from calibrant import Monitor

RUNS, ROUNDS, EVERY = 800, 1_000, 20_000
BOUND = ROUNDS / EVERY
MOST = RUNS * BOUND + 4 * np.sqrt(RUNS * BOUND * (1 - BOUND))

SHAPES = {
    "beta": lambda random, n: random.beta(2, 4, n),
    "uniform": lambda random, n: random.random(n),
    "rare": lambda _, n: np.full(n, 0.001),
    "crowded": lambda random, n: 0.001 * np.exp(random.normal(0, 0.7, n)),
    "two points": lambda random, n: random.choice([0.2, 0.8], n),
    "grid": lambda random, n: random.integers(1, 20, n) / 20,
    "ends": lambda random, n: random.choice([0.0, 1.0, 0.999, 0.5], n),
}


def rings(monitor, p, y, by=None, times=None):
    return bool(monitor.run(p, y, by, times))


def count(play, runs=RUNS, seed=0):
    """Return how many of these runs ring."""
    return sum(play(np.random.default_rng([seed, run])) for run in range(runs))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("edge", [0.0, 0.05, -0.05])
def test_calibrated_predictions_seldom_ring(shape, edge):
    """The worst that the null allows: every prediction is off by the tolerance."""

    def play(random):
        p = SHAPES[shape](random, ROUNDS)
        y = random.random(ROUNDS) < p + edge
        return rings(Monitor(EVERY, tolerance=abs(edge)), p, y)

    assert count(play) <= MOST


def test_a_monitor_of_less_tolerance_rings():
    """The test above can fail: no tolerance is not enough."""

    def play(random):
        p = random.random(ROUNDS)
        return rings(Monitor(EVERY, tolerance=0.0), p, random.random(ROUNDS) < p + 0.05)

    assert count(play) > 2 * MOST


def test_fifty_groups_cost_nothing():
    def play(random):
        p = random.beta(2, 4, ROUNDS)
        by = random.integers(50, size=ROUNDS)
        return rings(Monitor(EVERY, tolerance=0.0), p, random.random(ROUNDS) < p, by)

    assert count(play, runs=500) <= 500 * BOUND + 4 * np.sqrt(500 * BOUND)


def test_ever_a_false_alarm_has_chance_alpha():
    def play(random):
        p = random.beta(2, 4, 5_000)
        return rings(Monitor(alpha=0.05, tolerance=0.0), p, random.random(5_000) < p)

    assert count(play, runs=600) <= 600 * 0.05 + 4 * np.sqrt(600 * 0.05 * 0.95)


# -- outcomes that hang together -------------------------------------------------------------------

DAY = 25


def days_with_shocks(random, extra=0.0, days=200):
    """Return predictions that are calibrated given all earlier days, outcomes, and their days."""
    day = np.repeat(np.arange(days), DAY)
    p = 0.3 + 0.4 * random.random(len(day))
    shock = random.choice([-0.25, 0.25], days)[day]
    return p, random.random(len(day)) < p + shock + extra, day


def test_shared_shocks_ring_without_blocks_and_not_with_them():
    """One run has 5,000 rounds: the bound is 5,000 / 100,000."""

    def play(random, block):
        p, y, day = days_with_shocks(random)
        return rings(Monitor(100_000, tolerance=0.0, block=block), p, y, times=day)

    assert count(lambda random: play(random, None), runs=40) > 20
    assert count(lambda random: play(random, DAY), runs=300) <= 300 * 0.05 + 4 * np.sqrt(15)
    # A block may be longer than the day, as some days are.
    assert count(lambda random: play(random, 2 * DAY), runs=100) <= 100 * 0.05 + 4 * np.sqrt(5)


def test_blocks_that_end_early_do_not_hold():
    """Half a day is not the block in which shocks are shared."""

    def play(random):
        p, y, _ = days_with_shocks(random)
        return rings(Monitor(100_000, tolerance=0.0, block=5), p, y)

    assert count(play, runs=40) > 10


def test_a_bias_beyond_the_shocks_rings_in_blocks():
    def play(random):
        p, y, day = days_with_shocks(random, extra=0.2)
        return rings(Monitor(100_000, tolerance=0.0, block=DAY), p, y, times=day)

    assert count(play, runs=20) >= 19
