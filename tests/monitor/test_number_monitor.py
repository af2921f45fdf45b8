"""The monitor for numbers: no alarms while quantiles are calibrated, and correct ones otherwise."""

import numpy as np
import pytest

from calibrant import NumberRecalibrator
from calibrant.monitor import NumberMonitor
from monitor.late_worlds import NUMBER_WORLDS

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
NORMAL = np.array([-1.6449, -0.6745, 0.0, 0.6745, 1.6449])


def stream(change, seed, rounds=6000):
    y = np.random.default_rng(seed).normal(size=rounds)
    y[rounds // 2 :] = change(y[rounds // 2 :])
    return np.tile(NORMAL, (rounds, 1)), y


def test_few_false_alarms():
    """Each of twenty streams rings with a chance of 0.06 at most: more than 4 do in 1% of runs."""
    rings = [NumberMonitor(100_000).run(*arguments(seed)) for seed in range(20)]
    assert sum(bool(each) for each in rings) <= 4


def arguments(seed):
    quantiles, y = stream(lambda y: y, seed)
    return quantiles, LEVELS, y


def rings(play, world, wait, runs):
    """How many streams ring, with quantiles that are right given what was known: at most 10%."""
    rounds = 20 * wait + 1_000
    return sum(
        play(rounds, *NUMBER_WORLDS[world](np.random.default_rng([wait, run]), rounds, wait))
        for run in range(runs)
    )


def late(rounds, quantiles, y, known):
    monitor = NumberMonitor(10 * rounds, tolerance=0.0)
    return bool(monitor.run(quantiles, LEVELS, y, times=np.arange(rounds), available=known))


def as_outcomes_come(rounds, quantiles, y, known):
    order = np.argsort(known, kind="stable")
    order = order[~np.isnan(known[order])]
    return bool(NumberMonitor(10 * rounds, tolerance=0.0).run(quantiles[order], LEVELS, y[order]))


@pytest.mark.parametrize("world", NUMBER_WORLDS)
@pytest.mark.parametrize("wait", [10, 100])
def test_numbers_that_wait_together_may_hang_together(world, wait):
    """Of 20 streams more than 2 + 4 sqrt(1.8) = 7 ring with chance below 1e-3."""
    assert rings(late, world, wait, 20) <= 7


@pytest.mark.parametrize("world", NUMBER_WORLDS)
def test_bets_on_numbers_as_outcomes_come_ring(world):
    """The test above can fail: the rule for outcomes at once rings nearly always."""
    assert rings(as_outcomes_come, world, 100, 10) >= 8


def test_a_late_outcome_that_never_comes_may_be_anything():
    quantiles, y, known = NUMBER_WORLDS["only large numbers reported"](
        np.random.default_rng(1), 500, 10
    )
    monitors = [NumberMonitor(), NumberMonitor()]
    for monitor, never in zip(monitors, (0.0, np.nan), strict=True):
        told = np.where(np.isnan(known), never, y)
        monitor.run(quantiles, LEVELS, told, times=np.arange(500), available=known)
    assert monitors[0].to_bytes() == monitors[1].to_bytes()
    with pytest.raises(ValueError, match="available"):
        monitors[0].run(quantiles, LEVELS, y, times=np.arange(500), available=known[:9])
    assert monitors[0].to_bytes() == monitors[1].to_bytes()


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


def test_a_recalibrator_is_watched_at_once_and_late():
    """Steps and `run` leave the same state, which is saved; late outcomes are bet on beforehand."""
    random = np.random.default_rng(3)
    m = random.normal(size=900)
    y = m + random.normal(size=900)
    whole, steps = (NumberRecalibrator(monitor=True, periods=()) for _ in range(2))
    whole.run(m, y, by=["a", None, "b"] * 300)
    for t in range(900):
        steps.predict(m[t], by=["a", None, "b"][t % 3])
        steps.update(y[t])
    assert whole.to_bytes() == steps.to_bytes()
    assert whole.monitors.rounds == 900
    late = NumberRecalibrator(monitor={"every": 1000, "tolerance": 0.01}, periods=())
    for t in range(900):
        late.predict(m[t], id=t)
        if t >= 30:
            late.update(y[t - 30], id=t - 30)
    assert late.monitors.rounds == 900
    assert {each.pending for each in late.monitors.monitors.values()} == {30}
    again = NumberRecalibrator.from_bytes(late.to_bytes())
    for each in (late, again):
        each.update_many(y[870:], ids=range(870, 900))
    assert again.to_bytes() == late.to_bytes()
    assert again.monitor == {"every": 1000, "tolerance": 0.01}


def test_stakes_of_late_outcomes_are_placed_when_they_are_predicted():
    """Fifty outcomes that move together are one surprise, and not fifty."""
    quantiles = np.tile(NORMAL, (50, 1))
    together = NumberMonitor(1000)
    together.run(np.tile(NORMAL, (50, 1)), LEVELS, np.full(50, 2.0))
    apart = NumberMonitor(1000)
    keys = np.arange(50)
    apart.play_steps(keys, quantiles, np.full(50, np.nan), None)
    apart.play_steps(keys, quantiles, np.full(50, 2.0), None)
    assert together.state == "miscalibrated"
    assert apart.evidence < together.evidence
