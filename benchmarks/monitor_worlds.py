"""The worlds in which monitors are measured, and rival monitors."""

import numpy as np
from river import drift
from scipy.stats import chi2

from calibrant import Monitor

EVERY = 10**7

# How predictions are spread.
SHAPES = {
    "Beta(2, 4)": lambda random, n: random.beta(2, 4, n),
    "uniform": lambda random, n: random.random(n),
    "near 0 and 1": lambda random, n: random.beta(0.3, 0.3, n),
    "rare, all near 0.001": lambda random, n: 0.001 * np.exp(random.normal(-0.125, 0.5, n)),
    "rare, one value 0.001": lambda random, n: np.full(n, 0.001),
    "two values": lambda random, n: random.choice([0.2, 0.8], n),
    "a grid of 19": lambda random, n: random.integers(1, 20, n) / 20,
}


def everywhere(p, b):
    """A bias in all rounds."""
    return p + b


def in_a_range(p, b):
    """A bias where 0.5 <= p < 0.7: 16 % of the rounds of Beta(2, 4)."""
    return p + b * ((p >= 0.5) & (p < 0.7))


def flatter(p, b):
    """Over-confidence: the logit should be 1 - b times."""
    return 1 / (1 + (1 / p - 1) ** (1 - b))


def doubled(p, b):
    """Rare events that come 1 + b times as often."""
    return p * (1 + b)


def outcomes(random, chances):
    return (random.random(len(chances)) < np.clip(chances, 0, 1)).astype(float)


def changing(random, shape, change, after, how, b):
    """Return predictions and outcomes: calibrated up to a change, then off."""
    before = SHAPES[shape](random, change)
    came = outcomes(random, before)
    later = SHAPES[shape](random, after)
    return np.concatenate([before, later]), np.concatenate([came, outcomes(random, how(later, b))])


# -- who watches: each returns the round of the first alarm, or -1 ---------------------------------


def monitor(p, y, by=None, times=None, **arguments):
    episodes = Monitor(**{"every": EVERY, "tolerance": 0.0, **arguments}).run(p, y, by, times)
    return episodes[0].alarm if episodes else -1


def oracle(p, y, factor=2.0):
    """The Shiryaev-Roberts sum of a likelihood ratio whose rates are both known.

    It has the monitor's guarantee, and no detector with it is faster in the long run.
    """
    ratio = np.where(y == 1, factor, (1 - factor * p) / (1 - p))
    R = 0.0
    for t, each in enumerate(ratio.tolist()):
        R = each * (R + 1.0)
        if R >= EVERY:
            return t
    return -1


def oracle_cusum(p, y, factor=2.0):
    """The CUSUM of that ratio; its mean time to a false alarm is at least its threshold."""
    gain = np.where(y == 1, np.log(factor), np.log1p(-factor * p) - np.log1p(-p))
    total = np.concatenate([[0.0], np.cumsum(gain)])
    found = np.flatnonzero(total - np.minimum.accumulate(total) >= np.log(EVERY))
    return int(found[0]) - 1 if len(found) else -1


def hosmer_lemeshow(p, y, window=1_000, level=0.01, bins=10):
    """The test of Hosmer and Lemeshow in each window, by itself."""
    for start in range(0, len(p) - window + 1, window):
        predicted, came = p[start : start + window], y[start : start + window]
        parts = np.array_split(np.argsort(predicted, kind="stable"), bins)
        e, o = (np.array([values[part].sum() for part in parts]) for values in (predicted, came))
        n = np.array([len(part) for part in parts])
        if chi2.sf(((o - e) ** 2 / (e * (1 - e / n))).sum(), bins) < level:
            return start + window - 1
    return -1


def with_river(detector, values):
    for at, value in enumerate(values.tolist()):
        detector.update(value)
        if detector.drift_detected:
            return at
    return -1


def pit_monitor(p, y, alpha=0.01, bins=10, seed=0):
    """PITMonitor's rule: a histogram of randomised PITs bets against uniformity.

    M <- e (M + 1 / (t (t + 1))), alarm at 1 / alpha; e is the density that the histogram of the
    PITs before gives to this one.
    """
    u = np.random.default_rng(seed).random(len(p))
    pit = np.where(y == 1, 1 - p + u * p, u * (1 - p))
    counts, M = np.ones(bins), 0.0
    for t, at in enumerate(np.minimum((pit * bins).astype(int), bins - 1).tolist(), 1):
        M = bins * counts[at] / (bins + t - 1) * (M + 1 / (t * (t + 1)))
        if M * alpha >= 1:
            return t - 1
        counts[at] += 1
    return -1


RIVALS = {
    "Monitor(every=10**7, tolerance=0)": monitor,
    "Monitor(alpha=0.01, tolerance=0)": lambda p, y: monitor(p, y, alpha=0.01),
    "Monitor(every=10**7, tolerance=0.01)": lambda p, y: monitor(p, y, tolerance=0.01),
    "ADWIN on y - p": lambda p, y: with_river(drift.ADWIN(), (y - p + 1) / 2),
    "ADWIN on the Brier score": lambda p, y: with_river(drift.ADWIN(), (y - p) ** 2),
    "Page-Hinkley on y - p": lambda p, y: with_river(drift.PageHinkley(), (y - p + 1) / 2),
    "Page-Hinkley on the Brier score": lambda p, y: with_river(drift.PageHinkley(), (y - p) ** 2),
    "DDM on errors": lambda p, y: with_river(drift.binary.DDM(), (p > 0.5) != (y > 0.5)),
    "Hosmer-Lemeshow, windows of 1,000, 0.01": hosmer_lemeshow,
    "Hosmer-Lemeshow, windows of 1,000, 0.0001": lambda p, y: hosmer_lemeshow(p, y, level=1e-4),
    "PITMonitor's rule, 0.01": pit_monitor,
}
