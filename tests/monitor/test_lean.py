"""Small monitors: against their definition, their guarantee, saving and bad input."""

import math

import numpy as np
import pytest

from benchmarks.forged import forged
from calibrant.monitor import LeanMonitors

single = np.float32
SHIFTS = [d * s for s in (1, -1) for d in (0.1, 0.25, 0.64, 1.6)]


class Slow:
    """One key, from the definition; what it dates is not looked at."""

    def __init__(self, every, tolerance):
        self.every, self.tolerance = every, tolerance
        self.M, self.open = [single(0)] * 8, None

    def update(self, p, y):
        if self.open is not None:
            shift, L = self.open
            q = p * math.exp(shift) / (1 - p + p * math.exp(shift))
            q = max(q, p + self.tolerance) if shift > 0 else min(q, p - self.tolerance)
            q = min(max(q, 1e-9), 1 - 1e-9)
            L = single((y * p / q + (1 - y) * (1 - p) / (1 - q)) * (float(L) + 1))
            self.open = shift, L
            if L >= 1e6:
                self.__init__(self.every, self.tolerance)
                return "end"
            return None
        for k, shift in enumerate(SHIFTS):
            b = single(math.exp(shift))
            r = min(p + self.tolerance, 1.0) if shift > 0 else max(p - self.tolerance, 0.0)
            e = (single(1 - y) + single(y) * b) / (single(1 - r) + single(r) * b)
            self.M[k] = single(1 - 2**-20) * e * (self.M[k] + single(1))
        if sum(map(float, self.M)) / 8 >= self.every:
            best = int(np.argmax(self.M))
            self.open = float(single(SHIFTS[best] / 3)), single(0)
            return "alarm"
        return None


def world(seed, n=6_000, keys=3):
    random = np.random.default_rng(seed)
    p, key = random.beta(2, 3, n), random.integers(keys, size=n)
    off = 0.35 * ((np.arange(n) > n // 4) & (np.arange(n) < n // 2)) * (key == 1)
    return key, p, (random.random(n) < np.clip(p + off, 0, 1)).astype(float)


@pytest.mark.parametrize("seed", range(4))
def test_events_are_those_of_the_definition(seed):
    key, p, y = world(seed)
    slow = [Slow(5_000, 0.01) for _ in range(3)]
    expected = []
    for t in range(len(p)):
        event = slow[key[t]].update(p[t], y[t])
        if event:
            expected.append((int(key[t]), t, event))
    found = LeanMonitors(3, every=5_000, tolerance=0.01).run(key, p, y)
    assert [ring[:3] for ring in found] == expected
    assert expected[0][0] == 1
    assert found[0].direction == "too low"
    assert found[0].onset < found[0].round


def test_a_key_takes_48_bytes():
    monitors = LeanMonitors(1_000)
    assert monitors._get_state().nbytes == 48_000


def test_false_alarms_of_all_keys_together():
    """1,000 rounds at every = 20,000: at most 5 % of runs, as in test_guarantee.py."""
    rang, runs = 0, 600
    for run in range(runs):
        random = np.random.default_rng(run)
        p = random.random(1_000)
        key, y = random.integers(20, size=1_000), random.random(1_000) < p
        rang += bool(LeanMonitors(20, every=20_000, tolerance=0.0).run(key, p, y))
    assert rang <= runs * 0.05 + 4 * math.sqrt(runs * 0.05 * 0.95)


def test_parts_are_the_whole_and_saving_goes_on():
    key, p, y = world(1)
    whole, parts = LeanMonitors(3), LeanMonitors(3)
    expected = whole.run(key, p, y)
    found = []
    for part in np.array_split(np.arange(len(p)), 5):
        found += parts.run(key[part], p[part], y[part])
        parts = LeanMonitors.from_bytes(parts.to_bytes())
    assert found == expected
    assert parts.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([3], [0.5], [1]), "keys must be below 3"),
        (([-1], [0.5], [1]), "keys must be integers from 0"),
        (([0.5], [0.5], [1]), "keys must be integers"),
        (([0], [1.5], [1]), "predictions must be in"),
        (([0], [0.5], [2]), "outcomes must be in"),
        (([0, 1], [0.5], [1]), "same length"),
    ],
)
def test_bad_input_changes_nothing(given, message):
    monitors = LeanMonitors(3)
    monitors.run(*world(2))
    before = monitors.to_bytes()
    with pytest.raises(ValueError, match=message):
        monitors.run(*given)
    assert monitors.to_bytes() == before


def test_forged_states_are_refused_or_can_be_watched():
    monitors = LeanMonitors(3, every=1_000)
    key, p, y = world(2, 2_500)
    monitors.run(key, p, y)
    blob, random = monitors.to_bytes(), np.random.default_rng(3)
    refused = 0
    for _ in range(300):
        try:
            with np.errstate(all="ignore"):
                taken = LeanMonitors.from_bytes(forged(blob, random))
        except ValueError:
            refused += 1
            continue
        taken.run(key % taken.keys, p, y)
        assert LeanMonitors.from_bytes(taken.to_bytes()).to_bytes() == taken.to_bytes()
    assert 100 < refused < 300
