"""Scores that are wrong, each with the map to the true probability.

In every stream but the constant one the score is uniform on [0, 1], and the outcome is 1 with the
probability that the map gives for that score and that round:

- inverted: 1 - score.
- zig-zag of k teeth: the k equal bins of the score have probability 0.1 and 0.9 in turn.
- constant: the score is always 0.9, the probability 0.3.
- random: the probability is 0.3, whatever the score.
- switched every 5,000 rounds: the score itself and 1 - score in turn.
- switched at random times: the same, each round switching with probability 1 / 5,000.
"""

from typing import NamedTuple

import numpy as np

SWITCH = 5_000
RATE = 0.3


class Hostile(NamedTuple):
    """Scores, outcomes, and the probability of each outcome given its score and its round."""

    scores: np.ndarray
    outcomes: np.ndarray
    truth: np.ndarray


def zigzag(scores, teeth):
    return np.where((scores * teeth).astype(int) % 2 == 0, 0.1, 0.9)


def turned(scores, switches):
    """Return the scores, inverted after every odd number of switches."""
    return np.where(switches % 2 == 1, 1 - scores, scores)


MAPS = {
    "inverted": lambda scores, random: 1 - scores,
    "zig-zag, 10 teeth": lambda scores, random: zigzag(scores, 10),
    "zig-zag, 7 teeth": lambda scores, random: zigzag(scores, 7),
    "constant": lambda scores, random: np.full(len(scores), RATE),
    "random": lambda scores, random: np.full(len(scores), RATE),
    "switched every 5,000": lambda scores, random: turned(scores, np.arange(len(scores)) // SWITCH),
    "switched at random": lambda scores, random: turned(
        scores, np.cumsum(random.random(len(scores)) < 1 / SWITCH)
    ),
}


def hostile(name, rounds, seed):
    """Return one of the streams above."""
    random = np.random.default_rng([seed, *name.encode()])
    scores = np.full(rounds, 0.9) if name == "constant" else random.random(rounds)
    truth = MAPS[name](scores, random)
    return Hostile(scores, (random.random(rounds) < truth).astype(float), truth)
