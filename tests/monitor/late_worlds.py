"""Streams whose predictions are exactly right, given what was known when each was made.

Each returns predictions, outcomes, and when these become known; round t is predicted at time t.
"""

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr


def storms(random, n, wait, length, size=0.6):
    """An outcome `wait` rounds later depends on the weather then, an AR(1) of this length.

    The prediction knows the weather at its own time, and so integrates over what may come.
    """
    rho = np.exp(-1.0 / length)
    shocks = random.standard_normal(n + wait + 1)
    weather = lfilter([1.0], [1.0, -rho], np.r_[shocks[0], np.sqrt(1 - rho**2) * shocks[1:]])
    x, kept = -0.7 + 0.3 * random.standard_normal(n), rho**wait
    p = ndtr((x + size * kept * weather[:n]) / np.sqrt(1 + size**2 * (1 - kept**2)))
    y = x + size * weather[wait : wait + n] + random.standard_normal(n) > 0
    return p, y * 1.0, np.arange(n) + wait - 0.5


def bursts(random, n, wait, rate=0.02):
    """With chance 2 % everything that is predicted within `wait` rounds happens."""
    y = np.repeat(random.random(n // wait + 1) < rate, wait)[:n] * 1.0
    return np.full(n, rate), y, (np.arange(n) // wait + 1) * wait - 0.5


def events_first(random, n, wait):
    """Events are reported at once, and that there was none only after `wait` rounds."""
    p = random.beta(2, 4, n)
    y = (random.random(n) < p) * 1.0
    return p, y, np.arange(n) + np.where(y == 1.0, 0.0, wait - 0.5)


def only_events(random, n, wait):
    """Events are reported after up to `wait` rounds, and that there was none never."""
    p = random.beta(2, 4, n)
    y = (random.random(n) < p) * 1.0
    known = np.arange(n) + random.uniform(0.0, wait, n)
    return p, y, np.where(y == 1.0, known, np.nan)


def shifted(random, n, wait, size, change):
    """Outcomes come late, and from a round on predictions are too low by so much."""
    p, y, known = storms(random, n, wait, wait, 0.0)
    return np.where(np.arange(n) >= change, np.clip(p - size, 0.001, 0.999), p), y, known


WORLDS = {
    "storms shorter than the wait": lambda random, n, w: storms(random, n, w, w / 10),
    "storms as long as the wait": lambda random, n, w: storms(random, n, w, w),
    "storms longer than the wait": lambda random, n, w: storms(random, n, w, 10 * w),
    "strong storms": lambda random, n, w: storms(random, n, w, w, 1.5),
    "rare bursts": bursts,
    "events reported first": events_first,
    "only events reported": only_events,
}
