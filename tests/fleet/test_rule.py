"""The rule of a key against its slow reference, bit for bit."""

import numpy as np
import pytest

from calibrant._kernels.fleet.fleet_rule import RuleKernel
from naive.fleet import Key, Pool


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("late", [False, True])
def test_a_level_is_its_twin(seed, late):
    random = np.random.default_rng(seed)
    rounds, spread = 1500, [0.0, 0.5, 3.0][seed % 3]
    offsets = random.normal(0, spread, 64)
    estimate = [0.98, 0.15][seed % 2]
    kernel, pool, keys = RuleKernel(estimate), Pool(estimate), [Key() for _ in range(64)]
    # Few keys get most rounds, so that some come far in evidence and others stay new.
    drawn = np.minimum(random.geometric(0.05, rounds) - 1, 63)
    for key in np.where(random.random(rounds) < 0.3, 0, drawn).tolist():
        then = float(random.normal(-1, 2))
        now = then + float(random.normal(0, 0.1)) if late else then
        v = float(random.normal(0, 3))
        y = float(random.random() < 1 / (1 + np.exp(-then - offsets[key] - 3 * np.sin(v))))
        y = float(random.random()) if random.random() < 0.05 else y
        predicted, mean = pool.view(keys[key], then, v)
        assert kernel.mean(key, then, v) == mean
        lateness = float(random.integers(0, 50)) if late else 0.0
        kernel.learn(key, then, now, v, y, lateness)
        pool.learn(keys[key], pool.view(keys[key], now, v)[0], predicted, mean, y, lateness)
        pool.promote(keys[key])
    assert sum(key.outcomes for key in keys) == rounds
    assert keys[0].curve is not None
    assert keys[0].curve_weight > 0.9 or late
    assert not spread or {differs for _, differs in pool.weights} == {False, True}


def test_estimates_at_the_ends():
    kernel, pool, key = RuleKernel(0.5), Pool(0.5), Key()
    for x in (-40.0, -20.7, 0.0, 20.7, 40.0):
        for y in (0.0, 1.0, 0.5):
            predicted, mean = pool.view(key, x, x / 2)
            assert kernel.mean(0, x, x / 2) == mean
            assert 0.0 < mean < 1.0
            kernel.learn(0, x, x, x / 2, y, 0.0)
            pool.learn(key, predicted, predicted, mean, y, 0.0)
