"""What rules attain on streams that change, and that what people do does not.

The probabilities are the true chances, so that only the rule is tested; with recalibrated ones,
three seeds and flights, ``python -m benchmarks decide`` measures the same.
"""

import numpy as np
import pytest

from benchmarks.decide import best_cost, caught, cost, others, windows
from benchmarks.decide_streams import truth
from calibrant import Decider
from calibrant.decide.hindsight import precise_threshold

ROWS = 100_000
#: Below the 0.85 that is aimed at: of four seeds this short, one of seasons had 0.844.
CAUGHT = {"jumps": 0.8, "drift": 0.8, "bursts": 0.45, "seasons": 0.8, "ties": 0.8}


def stream(name):
    """Return true chances and outcomes."""
    chances = truth(name, 40, ROWS)[1]
    return chances, (np.random.default_rng(41).random(ROWS) < chances).astype(float)


def holds(acts, p, y, budget, least_caught):
    """Whether every window is within 20 % of the budget, and enough is caught."""
    low, high = windows(acts, budget)
    is_inside = low >= 0.8 - 1e-9 and high <= 1.2 + 1e-9
    return bool(is_inside and caught(acts, p, y) >= least_caught)


@pytest.mark.parametrize("name", CAUGHT)
@pytest.mark.parametrize("budget", [0.01, 0.05])
def test_a_budget_is_kept_and_well_spent(name, budget):
    p, y = stream(name)
    assert holds(Decider(budget=budget).decide_many(p), p, y, budget, CAUGHT[name])


def test_what_people_do_leaves_the_windows_or_catches_less_where_there_are_seasons():
    """On some bursts a quantile forced into the band catches as much as the price does."""
    p, y = stream("seasons")
    failed = [who for who, acts in others(p, 0.01) if not holds(acts, p, y, 0.01, 0.8)]
    assert len(failed) == 4


@pytest.mark.parametrize("name", CAUGHT)
@pytest.mark.parametrize("missing", [5, 20, 100])
def test_the_threshold_of_costs_is_nearly_the_best_of_hindsight(name, missing):
    p, y = stream(name)
    acts = Decider(cost_of_acting=1, cost_of_missing=missing).decide_many(p)
    assert cost(acts, y, missing) <= 1.015 * best_cost(p, y, missing)


def test_a_floor_of_precision_is_held_and_used():
    p, y = stream("jumps")
    at = np.arange(ROWS, dtype=float)
    best = (p >= precise_threshold(p, y, 0.5)).sum()
    acts = Decider(precision=0.5).run(p, y, at=at, known=at + 1000.5)
    assert y[acts].mean() >= 0.5
    assert acts.sum() >= 0.75 * best
    assert (p >= 0.5).sum() < 0.75 * best  # what people do is right too often
