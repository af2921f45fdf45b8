"""What a single threshold would have done, and how decisions compare with it."""

import numpy as np
import pytest

from calibrant import Decider
from calibrant.decide import review
from calibrant.decide.hindsight import (
    cheapest_threshold,
    precise_threshold,
    recalling_threshold,
    sized_threshold,
)


def some(seed, rows=60):
    random = np.random.default_rng(seed)
    scores = np.round(random.random(rows), 1)  # with ties
    return scores, (random.random(rows) < scores).astype(float)


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_in_hindsight_are_the_best_of_all(seed):
    scores, y = some(seed)
    every = [(scores >= t, t) for t in [*np.unique(scores), np.inf]]

    def cost(acts):
        return 1.5 * acts.sum() - acts @ y + 4 * y[~acts].sum() + 0.1 * (1 - y[~acts]).sum()

    costs = [[0.1, 4.0], [1.5, 0.5]]
    best = cheapest_threshold(scores, y, costs)
    assert np.isclose(cost(scores >= best), min(cost(acts) for acts, _ in every))
    precise = [t for acts, t in every if y[acts].sum() >= 0.6 * acts.sum()]
    assert precise_threshold(scores, y, 0.6) == min(precise)
    found = [t for acts, t in every if y[acts].sum() >= 0.7 * y.sum()]
    assert recalling_threshold(scores, y, 0.7) == max(found)
    small = [t for acts, t in every if acts.sum() <= 0.3 * len(y)]
    assert sized_threshold(scores, y, 0.3) == min(small)


@pytest.mark.parametrize(
    "arguments",
    [
        {"costs": [[0.1, 4.0], [1.5, 0.5]]},
        {"budget": 0.2, "per": 100},
        {"precision": 0.6},
        {"recall": 0.7, "explore": 0.1},
    ],
    ids=str,
)
def test_a_review_counts(arguments):
    p, y = some(5, 3000)
    decider = Decider(**arguments)
    acts = decider.run(p, y)
    found = review(decider, p, acts, y, scores=np.sqrt(p))
    assert list(found) == ["decided", "plain threshold on scores", "best threshold in hindsight"]
    own = found["decided"]
    assert (own.acts, own.share) == (acts.sum(), acts.mean())
    assert (own.recall, own.precision) == (y[acts].sum() / y.sum(), y[acts].mean())
    if decider.cost_matrix is None:
        assert np.isnan(own.cost)
    else:
        matrix = np.array(decider.cost_matrix)
        assert np.isclose(own.cost, matrix[acts.astype(int), y.astype(int)].sum())
        assert found["best threshold in hindsight"].cost <= own.cost + 1e-9
    if decider.budget is not None:
        windows = np.convolve(acts, np.ones(100), "valid") / 100
        assert (own.least, own.most) == (windows.min(), windows.max())
        assert 0.16 <= own.least <= own.most <= 0.24


def test_a_review_of_nothing():
    assert review(Decider(precision=0.5), [], [], [])["decided"].acts == 0
