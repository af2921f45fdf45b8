"""Opponents that see the distribution of a recalibrator, but not the draw; and its scores.

- contrarian: chooses 1 when the expected prediction is below 1/2, and 0 otherwise.
- greedy: chooses the outcome that raises the expected Cal2 most.

The scores are constant, uniform on [0, 1], or 0.2 and 0.8 in turn for 5,000 rounds each.
"""

from collections import defaultdict

import numpy as np

from benchmarks.hostile import SWITCH

SCORES = {
    "constant": lambda random, rounds: np.full(rounds, 0.7),
    "random": lambda random, rounds: random.random(rounds),
    "switched": lambda random, rounds: np.where(np.arange(rounds) // SWITCH % 2 == 0, 0.2, 0.8),
}


class Contrarian:
    """Chooses the less expected outcome."""

    def choose(self, points, weights):
        mean = sum(p * w for p, w in zip(points, weights, strict=True))
        return float(mean < 0.5)

    def observe(self, prediction, outcome):
        pass


class Greedy:
    """Chooses the outcome that raises the expected Cal2 most."""

    def __init__(self):
        self.visits = defaultdict(int)
        self.bias = defaultdict(float)

    def rise(self, point, outcome):
        """Return by how much this outcome after this prediction would raise Cal2."""
        visits, bias = self.visits[point], self.bias[point]
        before = bias**2 / visits if visits else 0.0
        return (bias + point - outcome) ** 2 / (visits + 1) - before

    def choose(self, points, weights):
        rises = [
            sum(w * self.rise(p, outcome) for p, w in zip(points, weights, strict=True))
            for outcome in (0.0, 1.0)
        ]
        return float(rises[1] > rises[0])

    def observe(self, prediction, outcome):
        self.visits[prediction] += 1
        self.bias[prediction] += prediction - outcome


OPPONENTS = {"contrarian": Contrarian, "greedy": Greedy}


def game(recalibrator, opponent, kind, rounds, seed):
    """Return the predictions and outcomes of a recalibrator against an opponent."""
    scores = SCORES[kind](np.random.default_rng([seed, rounds]), rounds)
    predictions, outcomes = np.empty(rounds), np.empty(rounds)
    for t, score in enumerate(scores.tolist()):
        points, weights = recalibrator.distribution(score)
        outcome = opponent.choose(points.tolist(), weights.tolist())
        predictions[t] = prediction = recalibrator.predict(score)
        recalibrator.update(outcome)
        opponent.observe(prediction, outcome)
        outcomes[t] = outcome
    return predictions, outcomes
