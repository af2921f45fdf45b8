"""The monitor for numbers: it is silent while quantiles hold, and says what is wrong when not."""

import numpy as np
import pytest

from calibrant.monitor import NumberMonitor

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
NORMAL = np.array([-1.6449, -0.6745, 0.0, 0.6745, 1.6449])


def stream(change, seed, rounds=6000):
    y = np.random.default_rng(seed).normal(size=rounds)
    y[rounds // 2 :] = change(y[rounds // 2 :])
    return np.tile(NORMAL, (rounds, 1)), y


def test_few_false_alarms():
    """Each of twenty streams rings with a chance of 0.06 at most: more than 4 do in 1 % of runs."""
    rings = [NumberMonitor(100_000).run(*arguments(seed)) for seed in range(20)]
    assert sum(bool(each) for each in rings) <= 4


def arguments(seed):
    quantiles, y = stream(lambda y: y, seed)
    return quantiles, LEVELS, y


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: 2 * y, "intervals have been too narrow"),
        (lambda y: 0.5 * y, "intervals have been too wide"),
        (lambda y: y + 0.7, "too low"),
        (lambda y: y - 0.7, "too high"),
    ],
)
def test_what_is_wrong_is_said(change, words):
    quantiles, y = stream(change, 1)
    monitor = NumberMonitor()
    found = monitor.run(quantiles, LEVELS, y)
    assert words in str(found[0])
    assert 2800 < found[0].episode.onset <= found[0].episode.alarm < 3600
    assert monitor.state == "miscalibrated"
    assert monitor.rounds == 6000


def test_one_by_one_is_the_same():
    quantiles, y = stream(lambda y: 2 * y, 2, 1500)
    whole, steps = NumberMonitor(), NumberMonitor()
    whole.run(quantiles, LEVELS, y)
    for row, outcome in zip(quantiles, y, strict=True):
        steps.update(row, LEVELS, outcome)
    assert [str(each) for each in whole.episodes] == [str(each) for each in steps.episodes]


def test_ties_say_nothing():
    """Outcomes that are the quantiles themselves neither ring nor hide what follows."""
    quantiles = np.zeros((3000, 5))
    assert NumberMonitor().run(quantiles, LEVELS, np.zeros(3000)) == []


def test_bad_input():
    with pytest.raises(ValueError, match="outcomes must be finite"):
        NumberMonitor().run([NORMAL], LEVELS, [np.nan])
    with pytest.raises(ValueError, match="every"):
        NumberMonitor(5)
