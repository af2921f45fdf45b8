"""Synthetic scored streams of many kinds, on which the recalibrator's constants were chosen.

A kind determines the distribution of the scores (their logits x), and how the logit of the
outcome's true probability depends on x and the round. No real stream is imitated, and the kinds are
not weighted: each is one kind of right or wrong scores.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.tables import table
from calibrant import Recalibrator
from calibrant.measures import cal2, ece
from calibrant.recalibrate.rivals import OnlinePlatt, Raw, WindowedRefit

TITLE = "Synthetic scored streams"
LENGTHS = {2_000: 3, 10_000: 3, 50_000: 1}  # rounds: seeds


class Scored(NamedTuple):
    """Scores, outcomes, and the probability of each outcome given its score and its round."""

    scores: np.ndarray
    outcomes: np.ndarray
    truth: np.ndarray


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logit(p):
    return np.log(p) - np.log1p(-p)


def normal(mean=0.0, spread=1.0):
    return lambda random, rounds: random.normal(mean, spread, rounds)


def uniform(random, rounds):
    return logit(random.uniform(0.01, 0.99, rounds))


def tied(random, rounds):
    """Seven values, as a scorecard gives them."""
    return np.clip(np.round(random.normal(0, 1.2, rounds)), -3, 3) * 0.8


def skewed(random, rounds):
    return random.gamma(2.0, 0.8, rounds) - 3.0


def walk(random, rounds, step):
    return np.cumsum(random.normal(0, step, rounds))


def weather(random, rounds, memory, spread):
    """A stationary disturbance that is forgotten in about `memory` rounds."""
    keep = 1 - 1 / memory
    shocks = random.normal(0, spread * np.sqrt(1 - keep**2), rounds)
    value, path = 0.0, np.empty(rounds)
    for t, shock in enumerate(shocks):
        value = keep * value + shock
        path[t] = value
    return path


def regimes(random, rounds, length, spread):
    """A level that is redrawn at random times, `length` rounds apart on average."""
    number = np.cumsum(random.random(rounds) < 1 / length)
    return random.normal(0, spread, number[-1] + 1)[number]


def ramp(rounds, start, end):
    return np.linspace(start, end, rounds)


# kind -> (logits of the scores, true logit given them, the generator and the number of rounds)
KINDS = {
    "calibrated": (normal(), lambda x, random, T: x),
    "calibrated, uniform": (uniform, lambda x, random, T: x),
    "calibrated, skewed": (skewed, lambda x, random, T: x),
    "slightly off": (normal(), lambda x, random, T: 0.93 * x - 0.05),
    "biased": (normal(), lambda x, random, T: x - 0.3),
    "overconfident": (normal(0, 1.5), lambda x, random, T: 0.6 * x),
    "underconfident": (normal(0, 0.7), lambda x, random, T: 1.5 * x + 0.1),
    "beta": (uniform, lambda x, random, T: 0.5 * np.log(sigmoid(x)) + 1.5 * x + 0.5),
    "step": (uniform, lambda x, random, T: np.where(x > 0.3, 1.0, -1.0)),
    "narrow": (normal(0.1, 0.2), lambda x, random, T: x + 0.15),
    "ties": (tied, lambda x, random, T: 0.8 * x + 0.2),
    "useless": (normal(), lambda x, random, T: np.full(T, -0.4)),
    "one in a hundred": (normal(-4.9, 0.8), lambda x, random, T: x + 0.2),
    "one in a thousand": (normal(-7.2, 0.8), lambda x, random, T: x + 0.2),
    "drifting bias": (normal(), lambda x, random, T: x + walk(random, T, 0.006)),
    "drifting slope": (normal(), lambda x, random, T: x * ramp(T, 1.4, 0.7)),
    "drifting, slowly": (normal(0, 0.8), lambda x, random, T: x + walk(random, T, 0.002)),
    "weather": (normal(-1), lambda x, random, T: x + weather(random, T, 300, 0.8)),
    "weather, uncertain": (
        normal(0, 1.3),
        lambda x, random, T: 0.8 * x + weather(random, T, 1_000, 0.3),
    ),
    "storms": (normal(-1), lambda x, random, T: 0.8 * x + weather(random, T, 100, 1.0)),
    "restless": (
        normal(-0.5, 1.2),
        lambda x, random, T: (
            np.exp(weather(random, T, 200, 0.5)) * x + weather(random, T, 200, 0.6)
        ),
    ),
    "regimes": (normal(), lambda x, random, T: x + regimes(random, T, 2_000, 0.4)),
    "replaced models": (
        normal(),
        lambda x, random, T: (
            np.exp(regimes(random, T, 4_000, 0.4)) * x + regimes(random, T, 4_000, 0.3)
        ),
    ),
    "seasons": (normal(), lambda x, random, T: x + 0.4 * np.sin(2 * np.pi * np.arange(T) / 3_000)),
}


def scored(kind, rounds, seed):
    """Return one of the streams above."""
    random = np.random.default_rng([seed, rounds, *kind.encode()])
    spread, follow = KINDS[kind]
    x = spread(random, rounds)
    truth = sigmoid(follow(x, random, rounds))
    return Scored(sigmoid(x), (random.random(rounds) < truth).astype(float), truth)


# What the recalibrator is compared with; TOPS, HOPS and isotonic refits are left out to save time.
RIVALS = {
    "raw": Raw,
    "OPS": OnlinePlatt,
    "sigmoid, last 2,000": lambda: WindowedRefit("sigmoid", window=2_000, every=500),
    "sigmoid, last 10,000": lambda: WindowedRefit("sigmoid", window=10_000, every=500),
}


def expected_log_loss(predictions, truth):
    """Return the mean log loss, in expectation over the outcomes."""
    edge = 1 / (len(truth) + 1)
    inside = np.clip(predictions, edge, 1 - edge)
    return -np.mean(truth * np.log(inside) + (1 - truth) * np.log1p(-inside))


def expected_brier(predictions, truth):
    """Return the Brier score, in expectation over the outcomes."""
    return np.mean((predictions - truth) ** 2 + truth * (1 - truth))


def ece_by_window(predictions, outcomes, window=1_000):
    """Return the ECE of each full window."""
    starts = range(0, len(outcomes) - window + 1, window)
    return np.array([ece(predictions[s : s + window], outcomes[s : s + window]) for s in starts])


def windowed_ece(predictions, outcomes):
    """Return the mean ECE of the full windows of 1,000 rounds."""
    return ece_by_window(predictions, outcomes).mean()


def measures_of(stream, seed):
    """Return the columns of the table below for one stream.

    The windowed ECE of the true probabilities stands beside ours: it is what chance alone leaves.
    """
    scores, outcomes, truth = stream
    rivals = {name: make().run(scores, outcomes) for name, make in RIVALS.items()}
    ours = Recalibrator(seed=seed).run(scores, outcomes)
    return [
        *(
            loss(ours, truth) - min(loss(predictions, truth) for predictions in rivals.values())
            for loss in (expected_log_loss, expected_brier)
        ),
        *(
            windowed_ece(predictions, outcomes) - windowed_ece(rivals["OPS"], outcomes)
            for predictions in (ours, truth)
        ),
        cal2(ours, outcomes),
    ]


def tables(progress):
    """Return the tables of this module, one after the other."""
    for rounds, seeds in LENGTHS.items():
        rows = []
        for kind in KINDS:
            progress(f"scored: {kind}, {rounds:,} rounds")
            runs = [measures_of(scored(kind, rounds, seed), seed) for seed in range(seeds)]
            rows.append(np.mean(runs, axis=0))
        shown = {**dict(zip(KINDS, rows, strict=True)), "mean": np.mean(rows, axis=0)}
        yield table(
            f"{rounds:,} rounds, {seeds} seeds: the Recalibrator's",
            ["kind", "log loss minus the best rival's", "Brier minus the best rival's",
             "windowed ECE minus OPS's", "the truth's windowed ECE minus OPS's", "Cal2"],
            [
                [kind, *(f"{value:+.4f}" for value in values[:4]), f"{values[4]:.0f}"]
                for kind, values in shown.items()
            ],
        )  # fmt: skip
