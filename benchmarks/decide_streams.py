"""Streams for decisions: the flights with their deadlines, and five seeded synthetic ones.

Each has the model's scores, the smooth estimates of a recalibrator, outcomes, and
the times at which rows arrive and outcomes become known. Synthetic outcomes are known to the
recalibrator at once and to the decider a thousand rows later; those of flights at landing.
"""

from typing import NamedTuple

import numpy as np

from calibrant import Recalibrator, streams

ROWS = 250_000
LATE = 1_000.5
MADE = ("jumps", "drift", "bursts", "seasons", "ties")


class Decisions(NamedTuple):
    """What is known of the rows of a stream."""

    scores: np.ndarray
    probabilities: np.ndarray
    outcomes: np.ndarray
    at: np.ndarray
    known: np.ndarray


def logistic(z):
    return 1.0 / (1.0 + np.exp(-z))


def pieces(random, rows, mean, low, high):
    """Return a level that jumps to a uniform one after exponential times, but not at once."""
    level, start = np.empty(rows), 0
    while start < rows:
        end = start + 1_500 + int(random.exponential(mean))
        level[start:end] = random.uniform(low, high)
        start = end
    return level


def wander(random, rows, size):
    return size * np.cumsum(random.normal(size=rows)) / np.sqrt(rows)


def truth(name, seed, rows=ROWS):
    """Return the scores of a model that knows nothing of the change, and the true chances."""
    random, t = np.random.default_rng([seed, MADE.index(name), 77]), np.arange(rows)
    x = random.normal(size=rows)
    if name == "jumps":
        return logistic(1.3 * x - 2.4), logistic(1.3 * x + pieces(random, rows, 12_000, -5, 0))
    if name == "drift":
        where, width = wander(random, rows, 2.0), np.exp(wander(random, rows, 0.4))
        x = where + width * x
        slope = np.exp(0.3 * np.cos(2 * np.pi * t / 60_000))
        return logistic(x - 2.4), logistic(slope * x - 2.7 - 0.3 * where)
    if name == "bursts":
        lift, start = np.zeros(rows), 0
        while start < rows:
            start += int(random.exponential(8_000))
            length = int(random.integers(300, 3_000))
            lift[start : start + length] = random.uniform(2.0, 4.0)
            start += length
        x += lift / 2
        return logistic(x - 4.0), logistic(x + lift / 2 - 4.5)
    if name == "seasons":
        day, week = np.sin(2 * np.pi * t / 2_400), np.sin(2 * np.pi * t / 16_800)
        x += 0.6 * day
        return logistic(x - 2.8), logistic(x - 2.8 + 0.9 * day + 0.8 * week)
    # A wholesale of equal scores: most rows share one, the others a dozen.
    x = np.where(random.random(rows) < 0.6, -0.5, np.round(1.5 * x) / 1.5)
    return logistic(x - 2.5), logistic(x + pieces(random, rows, 18_000, -4, -1))


def made(name, seed, rows=ROWS):
    """Return a synthetic stream with its recalibrated probabilities."""
    scores, chances = truth(name, seed, rows)
    random = np.random.default_rng([seed, MADE.index(name), 78])
    outcomes = (random.random(rows) < chances).astype(float)
    smooth = Recalibrator()._run(scores, outcomes, by=None, smooth=True)[2]
    at = np.arange(rows, dtype=float)
    return Decisions(scores, smooth, outcomes, at, at + LATE)


def flights():
    """Return the flights, recalibrated with deadlines as in ``make run``."""
    stream = streams.load("nycflights")
    at, known, due = map(seconds, (stream.times, stream.columns["landed"], stream.columns["due"]))
    told, *_ = Recalibrator(silence=1)._play_table(
        stream.scores, stream.outcomes, at=at, known=known, due=due, is_dated=True, smooth=True
    )
    return Decisions(stream.scores, told[2], stream.outcomes, at, known)


def seconds(times):
    return np.asarray(times, dtype="datetime64[s]").astype(float)
