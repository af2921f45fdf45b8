"""Figures of the frequently asked questions: a retrained model, and how many outcomes it takes."""

from __future__ import annotations

import numpy as np

from benchmarks.tables import table
from calibrant import Recalibrator
from calibrant.report import BeforeAfter

TITLE = "Answers that were measured"
RETRAINED, HELPS = "The model was retrained", "How many outcomes until it helps"
IN_DOCS = {"docs/answers.md": (RETRAINED, HELPS)}
SEED, SEEDS, RUNS = 31_415, 20, 100
BEFORE, AFTER = 10_000, (200, 1_000, 5_000)
SIZES = (200, 500, 1_000, 2_000, 5_000)
#: Logits of scores, of the old model and of the new one, as slope and shift of the true ones.
MODELS = {
    "wrong in the same way": ((2.0, 0.5), (2.0, 0.5)),
    "a little less wrong": ((2.0, 0.5), (1.6, 0.3)),
    "calibrated by now": ((2.0, 0.5), (1.0, 0.0)),
    "wrong in the opposite way": ((2.0, 0.5), (0.5, -0.5)),
    "on another scale": ((1.0, 0.0), (0.25, -3.0)),
}
#: The same of scores that never change, and the mean of the true logits.
SCORES = {
    "overconfident, slope 2": ((2.0, 0.0), 0.0),
    "too high, odds times 1.6": ((1.0, 0.5), 0.0),
    "too high, odds times 1.2": ((1.0, 0.2), 0.0),
    "2 % of ones, odds twice too high": ((1.0, 0.7), -4.5),
    "right": ((1.0, 0.0), 0.0),
}


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def world(random, rounds, mean=0.0):
    """Return true logits and outcomes."""
    x = random.normal(mean, 1.2, rounds)
    return x, (random.random(rounds) < sigmoid(x)).astype(float)


def log_loss(p, y):
    return -(y * np.log(p) + (1.0 - y) * np.log1p(-p))


def retrained(say):
    """Return the log loss above the truth after a new model came: state kept, and a new one."""
    rows = []
    for label, (old, new) in MODELS.items():
        say(f"retrained: {label}")
        excess = {"as it is": [], "kept": [], "new": []}
        for seed in range(SEEDS):
            random = np.random.default_rng([SEED, seed])
            x, y = world(random, BEFORE + max(AFTER))
            first, then = sigmoid(old[0] * x + old[1]), sigmoid(new[0] * x + new[1])
            kept = Recalibrator(seed=seed)
            kept.run(first[:BEFORE], y[:BEFORE])
            s, outcomes, truth = then[BEFORE:], y[BEFORE:], sigmoid(x[BEFORE:])
            predicted = {
                "as it is": s, "kept": kept.run(s, outcomes),
                "new": Recalibrator(seed=seed).run(s, outcomes),
            }  # fmt: skip
            for name, p in predicted.items():
                above = log_loss(np.clip(p, 1e-9, 1 - 1e-9), outcomes) - log_loss(truth, outcomes)
                excess[name].append([above[:size].mean() for size in AFTER])
        means = {name: np.mean(each, axis=0) for name, each in excess.items()}
        cells = [f"{means[name][at]:.4f}" for at in range(len(AFTER)) for name in excess]
        rows.append([label, *cells])
    return rows


def helps(say):
    """Return, by how many outcomes there are, how often a verdict is "better", and the change."""
    rows = []
    for label, ((slope, shift), mean) in SCORES.items():
        say(f"helps: {label}")
        better, worse, gained = (np.zeros(len(SIZES)) for _ in range(3))
        for run in range(RUNS):
            random = np.random.default_rng([SEED, 1, run])
            x, y = world(random, max(SIZES), mean)
            s = sigmoid(slope * x + shift)
            p = Recalibrator(seed=run).run(s, y)
            for at, size in enumerate(SIZES):
                both = BeforeAfter.from_predictions(s[:size], p[:size], y[:size])
                better[at] += both.verdict.word == "better"
                worse[at] += both.verdict.word == "worse"
                gained[at] += both.calibrated.log_loss - both.raw.log_loss
        cells = [
            f"{100 * good / RUNS:.0f} %, {gain / RUNS:+.4f}"
            for good, gain in zip(better, gained, strict=True)
        ]
        rows.append([label, *cells, f"{100 * worse.max() / RUNS:.0f} %"])
    return rows


def tables(say):
    head = ["the new model's scores are"]
    head += [f"{name}, {size:,}" for size in AFTER for name in ("as they are", "kept", "new")]
    yield table(RETRAINED, head, retrained(say)) + (
        f"\nThe log loss above that of the true probabilities in the first 200, 1,000 and 5,000 "
        f"outcomes after a new model came: its scores as they are, a state that was kept from "
        f"{BEFORE:,} outcomes of the old model, and a new one; the mean of {SEEDS} "
        "streams.\n"
    )
    sizes = [f"{size:,} outcomes" for size in SIZES]
    yield table(HELPS, ["the scores are", *sizes, 'ever "worse"'], helps(say)) + (
        f'\nIn how many of {RUNS} streams the verdict is "better" by then, and the mean change of '
        "the log loss.\n"
    )
