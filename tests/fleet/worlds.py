"""Synthetic streams with keys: the meaning of a score differs from key to key."""

import numpy as np

#: Offsets of keys with this standard deviation, by name, and worlds that are made otherwise.
SPREADS = {"all alike": 0.0, "offsets of sd 0.3": 0.3, "offsets of sd 1": 1.0}
OTHERS = (
    "one in twenty off by 3",
    "slopes differ",
    "offsets and slopes differ",
    "every other key upside down",
    "offsets drift",
)


def keyed(rounds, keys, seed, spread=1.0):
    """Return keys, scores as logits and outcomes; a key's logit is off by its own offset."""
    random = np.random.default_rng(seed)
    key, score = random.integers(0, keys, rounds), random.normal(-1, 1, rounds)
    offset = random.normal(0, spread, keys)
    chance = 1 / (1 + np.exp(-score - offset[key]))
    return key, score, (random.random(rounds) < chance).astype(float)


def world(name, keys, each, seed):
    """Return keys, scores as logits, outcomes and their chances; about `each` outcomes a key."""
    random = np.random.default_rng(seed)
    rounds = keys * each
    key, score = random.integers(0, keys, rounds), random.normal(-1, 1, rounds)
    slopes, offsets = np.exp(random.normal(0, 0.5, keys)), random.normal(0, 0.5, keys)
    if name in SPREADS:
        x = score + random.normal(0, 1, keys)[key] * SPREADS[name]
    elif name == "one in twenty off by 3":
        off = (random.random(keys) < 0.05) * random.choice([-3.0, 3.0], keys)
        x = score + off[key]
    elif name == "slopes differ":
        x = slopes[key] * score
    elif name == "offsets and slopes differ":
        x = slopes[key] * score + offsets[key]
    elif name == "every other key upside down":
        x = np.where(key % 2, score, -score)
    else:  # each key goes up and down three times, from where it happens to be
        turns = 3 * np.arange(rounds) / rounds + random.random(keys)[key]
        x = score + np.sin(2 * np.pi * turns)
    chance = 1 / (1 + np.exp(-x))
    return key, score, (random.random(rounds) < chance).astype(float), chance


def bent(keys, each, seed):
    """Return the same of keys whose chances are each a curve of its own over the score."""
    random = np.random.default_rng(seed)
    rounds = keys * each
    key, score = random.integers(0, keys, rounds), random.normal(-1, 1, rounds)
    x = score + np.sin(2 * score + 2 * np.pi * random.random(keys)[key])
    chance = 1 / (1 + np.exp(-x))
    return key, score, (random.random(rounds) < chance).astype(float), chance


def bayes(keys, scores, outcomes, spread):
    """Return what Bayes says who knows the spread of the offsets, and only that: by quadrature."""
    if spread == 0:
        return 1 / (1 + np.exp(-scores))
    grid = np.linspace(-5 * spread, 5 * spread, 121)
    logs = np.tile(-(grid**2) / (2 * spread**2), (keys.max() + 1, 1))
    predicted = np.empty(len(keys))
    order = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[order], keys[order])
    turn = np.empty(len(keys), dtype=int)  # how many rows of its key came before each
    turn[order] = np.arange(len(keys)) - first
    rows_by_turn = np.split(np.argsort(turn, kind="stable"), np.cumsum(np.bincount(turn))[:-1])
    for rows in rows_by_turn:
        key, y = keys[rows], outcomes[rows, None]
        p = 1 / (1 + np.exp(-scores[rows, None] - grid))
        weights = np.exp(logs[key] - logs[key].max(axis=1, keepdims=True))
        predicted[rows] = (weights * p).sum(axis=1) / weights.sum(axis=1)
        logs[key] += np.log(y * p + (1 - y) * (1 - p))
    return predicted


def log_loss(predictions, outcomes):
    return float(-np.mean(np.log(np.where(outcomes == 1, predictions, 1 - predictions))))
