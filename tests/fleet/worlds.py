"""Made streams with keys: what a score means differs from key to key."""

import numpy as np


def keyed(rounds, keys, seed, spread=1.0):
    """Return keys, scores as logits and outcomes; a key's logit is off by its own offset."""
    random = np.random.default_rng(seed)
    key, score = random.integers(0, keys, rounds), random.normal(-1, 1, rounds)
    offset = random.normal(0, spread, keys)
    chance = 1 / (1 + np.exp(-score - offset[key]))
    return key, score, (random.random(rounds) < chance).astype(float)


def log_loss(predictions, outcomes):
    return float(-np.mean(np.log(np.where(outcomes == 1, predictions, 1 - predictions))))
