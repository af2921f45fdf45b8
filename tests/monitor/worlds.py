"""Worlds that several tests of the monitor share."""

import numpy as np


def off_in_the_middle(seed, n, bias=0.5):
    """Return predictions, outcomes that are off in the second quarter, and groups."""
    random = np.random.default_rng(seed)
    p = random.beta(2, 4, n)
    off = (np.arange(n) > n // 4) & (np.arange(n) < n // 2)
    y = (random.random(n) < np.clip(p + bias * off, 0, 1)).astype(float)
    return p, y, random.choice(["a", "b", "c"], n).tolist()
