"""The kernel of numbers beside its slow reference, on many random streams, late and at once."""

import numpy as np
import pytest

from calibrant import NumberRecalibrator
from naive.numbers import NaiveNumbers

LEVELS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)


def case(number, rounds):
    """Return forecasts and outcomes of one of many small streams, all different."""
    random = np.random.default_rng([number, 29])
    m = random.normal(0, 2, rounds)
    noise = [
        lambda: random.normal(size=rounds),
        lambda: random.standard_t(2, rounds),
        lambda: random.normal(size=rounds) * np.where(np.arange(rounds) < rounds // 2, 1, 20),
        lambda: np.round(random.exponential(2, rounds)),
        lambda: random.normal(size=rounds).cumsum(),
        lambda: np.where(np.arange(rounds) % 7 == 3, 5.0, 0.0) + random.normal(size=rounds),
        lambda: np.where(np.arange(rounds) < rounds // 3, 0.0, random.normal(size=rounds)),
    ][number % 7]()
    if number % 5 == 0:
        m[::9] = np.nan
    scale = 10.0 ** random.integers(-8, 9)
    return m * scale, np.where(np.isnan(m), 0.0, m) * scale + noise * scale


def close(mine, twin, y):
    """Return whether quantiles are those of the twin, but for rounding."""
    scale = np.abs(y).max() + 1e-300
    same = np.isinf(mine) & (mine == twin)
    with np.errstate(invalid="ignore"):
        return bool((same | (np.abs(mine - twin) < 1e-8 * scale)).all())


@pytest.mark.parametrize("number", range(10))
def test_at_once(number):
    m, y = case(number, 120)
    periods = ((), (7,), (2, 24))[number % 3]
    twin = NaiveNumbers(LEVELS, periods)
    predicted = NumberRecalibrator(LEVELS, periods=periods).run(m, y)
    for t in range(len(m)):
        prediction = twin.predict(m[t])
        assert close(predicted[t], prediction["shown"], y), t
        twin.learn(prediction, y[t])


@pytest.mark.parametrize("number", range(10))
def test_late_in_any_order(number):
    """Delays are irregular, some outcomes never come, and shapes are judged as they were."""
    m, y = case(number, 200)
    random = np.random.default_rng([number, 30])
    delay = random.integers(0, (3, 12, 40)[number % 3], len(m))
    recalibrator, twin = NumberRecalibrator(LEVELS, periods=(7,)), NaiveNumbers(LEVELS, (7,))
    waiting = {}
    for t in range(len(m)):
        mine, theirs = recalibrator.predict(m[t], id=t), twin.predict(m[t])
        assert close(mine.quantiles, theirs["shown"], y), t
        waiting[t] = theirs
        for each in [s for s in waiting if s + delay[s] <= t]:
            prediction = waiting.pop(each)
            if each % 11:
                recalibrator.update(y[each], id=each)
                twin.learn(prediction, y[each])
    assert twin.late > 0


@pytest.mark.parametrize("number", range(6))
def test_quantiles_that_a_model_gives(number):
    m, y = case(5 * number + 1, 150)
    twin, recalibrator = NaiveNumbers(LEVELS, ()), NumberRecalibrator(LEVELS, periods=())
    width = np.abs(y - m).mean() * (0.3, 1.0, 3.0)[number % 3]
    given = m[:, None] + width * np.linspace(-2, 2, len(LEVELS))
    for t in range(len(m)):
        mine = recalibrator.predict(m[t], quantiles=given[t])
        theirs = twin.predict(m[t], given[t])
        assert close(mine.quantiles, theirs["shown"], y), t
        recalibrator.update(y[t])
        twin.learn(theirs, y[t])


def test_bounds():
    random = np.random.default_rng(3)
    y = np.maximum(0.0, random.normal(0.3, 1, 200))
    twin, recalibrator = (
        NaiveNumbers(LEVELS, (), (0.0, np.inf)),
        NumberRecalibrator(LEVELS, periods=(), bounds=(0, None)),
    )
    predicted = recalibrator.run(np.full(200, 0.3), y)
    for t in range(200):
        prediction = twin.predict(0.3)
        assert close(predicted[t], prediction["shown"], y), t
        twin.learn(prediction, y[t])
    assert predicted.min() == 0.0


def test_an_opponent_who_drives_the_net():
    """Just above level 0.9 while that is finite: both reach the wall, and mark the same rounds."""
    levels = (0.1, 0.5, 0.9)
    twin, recalibrator = NaiveNumbers(levels, ()), NumberRecalibrator(levels, periods=())
    infinite = 0
    for t in range(500):
        mine, theirs = recalibrator.predict(0.0).quantiles, twin.predict(0.0)
        assert close(mine, theirs["shown"], np.array([1e6])), t
        if t < 20:
            y = np.sin(t)
        elif np.isfinite(mine[2]) and mine[2] < 1e6:
            y = mine[2] + 1e-3 * (1.0 + abs(mine[2]))
        else:
            y = -1e6
        infinite += bool(np.isinf(mine).any())
        recalibrator.update(y)
        twin.learn(theirs, y)
    assert infinite > 0
