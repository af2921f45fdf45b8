"""Streams whose predictions are exactly right, given what was known when each was made.

Each returns predictions, outcomes, and when these become known; round t is predicted at time t.
"""

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri


def weather_of(random, n, wait, length):
    """An AR(1) of this length, and its correlation over `wait` rounds."""
    rho = np.exp(-1.0 / length)
    shocks = random.standard_normal(n + wait + 1)
    weather = lfilter([1.0], [1.0, -rho], np.r_[shocks[0], np.sqrt(1 - rho**2) * shocks[1:]])
    return weather, rho**wait


def storms(random, n, wait, length, size=0.6):
    """An outcome `wait` rounds later depends on the weather then, an AR(1) of this length.

    The prediction knows the weather at its own time, and so integrates over what may come.
    """
    weather, kept = weather_of(random, n, wait, length)
    x = -0.7 + 0.3 * random.standard_normal(n)
    p = ndtr((x + size * kept * weather[:n]) / np.sqrt(1 + size**2 * (1 - kept**2)))
    y = x + size * weather[wait : wait + n] + random.standard_normal(n) > 0
    return p, y * 1.0, np.arange(n) + wait - 0.5


def bursts(random, n, wait, rate=0.02):
    """With chance 2% everything that is predicted within `wait` rounds happens."""
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


# -- numbers: quantiles at LEVELS, outcomes, and when these become known ---------------------------

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def number_storms(random, n, wait, length, size=0.6):
    """The weather when an outcome arrives moves it; the quantiles know that of their own time."""
    weather, kept = weather_of(random, n, wait, length)
    x = random.standard_normal(n)
    spread = np.sqrt(1 + size**2 * (1 - kept**2))
    q = (x + size * kept * weather[:n])[:, None] + spread * ndtri(LEVELS)
    y = x + size * weather[wait : wait + n] + random.standard_normal(n)
    return q, y, np.arange(n) + wait - 0.5


def number_bursts(random, n, wait, rate=0.05):
    """With chance 5% all that is predicted within `wait` rounds is above the 95% quantile."""
    high = np.repeat(random.random(n // wait + 1) < rate, wait)[:n]
    u = np.where(high, 1 - rate * random.random(n), (1 - rate) * random.random(n))
    return np.tile(LEVELS, (n, 1)), u, (np.arange(n) // wait + 1) * wait - 0.5


def large_first(random, n, wait):
    """Numbers above the median are reported at once, all others after `wait` rounds."""
    u = random.random(n)
    return np.tile(LEVELS, (n, 1)), u, np.arange(n) + np.where(u > 0.5, 0.0, wait - 0.5)


def only_large(random, n, wait):
    """Numbers above the median are reported after up to `wait` rounds, all others never."""
    u = random.random(n)
    known = np.arange(n) + random.uniform(0.0, wait, n)
    return np.tile(LEVELS, (n, 1)), u, np.where(u > 0.5, known, np.nan)


def shifted(random, n, wait, size, change):
    """Outcomes arrive late, and from a round on predictions are too low by so much."""
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
NUMBER_WORLDS = {
    "storms shorter than the wait": lambda random, n, w: number_storms(random, n, w, w / 10),
    "storms as long as the wait": lambda random, n, w: number_storms(random, n, w, w),
    "storms longer than the wait": lambda random, n, w: number_storms(random, n, w, 10 * w),
    "strong storms": lambda random, n, w: number_storms(random, n, w, w, 1.5),
    "rare bursts": number_bursts,
    "large numbers reported first": large_first,
    "only large numbers reported": only_large,
}
