"""Rows for the tests of the scikit-learn classifier."""

import numpy as np


def world(rounds, seed, *, turned=False):
    """Rows of three features, of which the first decides; turned over, the other way round."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, 3))
    z = (-1.0 if turned else 2.0) * X[:, 0] + 0.5
    return X, (random.random(rounds) < 1 / (1 + np.exp(-z))).astype(int)
