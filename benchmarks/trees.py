"""Opponents that are decision trees: a family for the search.

A tree is a leaf, or a tuple (feature, threshold, tree below, tree above). It sees the distribution
of this round and the past, but not the draw; the leaf it reaches determines the outcome:

- zero, one: that outcome;
- expected: outcomes with the mean of the distribution, dithered;
- sweep: outcomes with a mean that moves back and forth between 0 and 1, `passes` times, dithered;
- even: the outcome that brings the slopes of the two ends together;
- apart: the other one;
- greedy: the outcome that raises the expected Cal2 more.
"""

import math

import numpy as np

from benchmarks.routes import log_uniform, triangle

LEAVES = ("zero", "one", "expected", "sweep", "even", "apart", "greedy")
# Each with the range that its thresholds come from.
FEATURES = {
    "share of lo": (0, 1),
    "visits, lo to hi": (-3, 3),
    "costs, lo to hi": (-3, 3),
    "bias of lo": (-6, 6),
    "bias of hi": (-6, 6),
    "expected": (0, 1),
    "log width": (-7, 0),
    "time": (0, 1),
    "recent mean above": (-0.1, 0.1),
    "sweep above": (-0.3, 0.3),
    "outright": (0, 1),
}
NAMES = tuple(FEATURES)


def random_tree(random, depth=4):
    if depth == 0 or random.random() < 0.2:
        return str(random.choice(LEAVES))
    feature = int(random.integers(len(NAMES)))
    threshold = float(random.uniform(*FEATURES[NAMES[feature]]))
    return feature, threshold, random_tree(random, depth - 1), random_tree(random, depth - 1)


def random_policy(rounds, random):
    return {"tree": random_tree(random), "passes": log_uniform(random, 0.5, rounds / 200)}


def changed_tree(tree, random):
    """Return a tree with one place changed: a threshold moved, or a branch redrawn."""
    if isinstance(tree, str) or random.random() < 0.2:
        return random_tree(random, depth=2)
    feature, threshold, below, above = tree
    if random.random() < 0.3:
        low, high = FEATURES[NAMES[feature]]
        return feature, threshold + random.normal(0, 0.1) * (high - low), below, above
    if random.random() < 0.5:
        return feature, threshold, changed_tree(below, random), above
    return feature, threshold, below, changed_tree(above, random)


def changed_policy(policy, _rounds, random):
    if random.random() < 0.2:
        return {**policy, "passes": policy["passes"] * math.exp(random.normal(0, 0.5))}
    return {**policy, "tree": changed_tree(policy["tree"], random)}


def describe_policy(policy):
    def words(tree):
        if isinstance(tree, str):
            return tree
        feature, threshold, below, above = tree
        return f"({NAMES[feature]} > {threshold:.3g}? {words(above)} : {words(below)})"

    return f"{words(policy['tree'])}, {policy['passes']:.3g} passes"


class TreeOpponent:
    """Plays a policy against a forecaster of `rounds` rounds."""

    def __init__(self, policy, rounds):
        self.tree, self.passes, self.rounds = policy["tree"], policy["passes"], rounds
        self.visits, self.bias = {}, {}
        self.recent, self.owed = 0.5, 0.0

    def play(self, forecaster):
        """Return the predictions and outcomes of a game."""
        predictions, outcomes = np.empty(self.rounds), np.empty(self.rounds)
        sweep = triangle(self.passes * np.arange(self.rounds) / self.rounds / 2).tolist()
        for t in range(self.rounds):
            points, weights = forecaster.distribution()
            y = self.choose(points.tolist(), weights.tolist(), t, sweep[t])
            p = forecaster.predict()
            forecaster.update(y)
            self.visits[p] = self.visits.get(p, 0) + 1
            self.bias[p] = self.bias.get(p, 0.0) + p - y
            self.recent += 0.02 * (y - self.recent)
            predictions[t], outcomes[t] = p, y
        return predictions, outcomes

    def choose(self, points, weights, t, sweep):
        lo, hi = points[0], points[-1]
        n = [self.visits.get(z, 0) for z in (lo, hi)]
        S = [self.bias.get(z, 0.0) for z in (lo, hi)]
        slopes = [abs(S[i]) / ((n[i] + 1) * z * (1 - z) + 1) for i, z in enumerate((lo, hi))]
        mean = weights[0] * lo + (1 - weights[0]) * hi
        seen = (
            weights[0],
            math.log((n[0] + 1) / (n[1] + 1)),
            math.log((slopes[0] * abs(S[0]) + 0.01) / (slopes[1] * abs(S[1]) + 0.01)),
            S[0],
            S[1],
            mean,
            math.log(hi - lo) if hi > lo else -9.0,
            t / self.rounds,
            self.recent - mean,
            sweep - mean,
            float(hi == lo),
        )
        leaf = self.tree
        while not isinstance(leaf, str):
            feature, threshold, below, above = leaf
            leaf = above if seen[feature] > threshold else below
        if leaf in ("zero", "one"):
            return float(leaf == "one")
        if leaf in ("expected", "sweep"):
            self.owed += mean if leaf == "expected" else sweep
            y = float(self.owed >= 0.5)
            self.owed -= y
            return y
        if leaf == "greedy":
            rises = 0.0
            for i, weight in enumerate((weights[0], 1 - weights[0])):
                rises += weight * (1 - 2 * (S[i] + (lo, hi)[i])) / (n[i] + 1)
            return float(rises > 0)
        # One raises the slope of lo, which under-predicts, and lowers that of hi.
        return float((slopes[0] < slopes[1]) == (leaf == "even"))
