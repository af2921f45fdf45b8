"""Rare events: whether the mean prediction matches their rate, and the smooth ranking."""

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.tables import table
from calibrant import Recalibrator, streams

TITLE = "Rare events, and ranking"
RATE = "Mean prediction over the rate of events, 3 in 100,000"
RANKING = "What ranking by the smooth estimate loses against ranking by the scores"
IN_DOCS = {"docs/production.md": (RATE, RANKING)}
ROUNDS, FIRST, SEEDS = 1_000_000, 100_000, 20
RARE = {1e-3: 100_000, 1e-4: 400_000}
NAMES = ("covid_rise", "mlb538", "nba538", "nba_elo", "nfl_elo", "nycflights", "soccer538")


def events(rate, rounds, seed, spread=1.0):
    """Return the rate of each row, lognormal around its mean, and the events."""
    random = np.random.default_rng([seed, rounds])
    rates = rate * random.lognormal(-0.5 * spread**2, spread, rounds)
    return rates, (random.random(rounds) < rates).astype(float)


def chance():
    """Return the standard error of the plain estimate of a constant rate, over the rate.

    In round t it is N / t with N events so far. Of its mean from FIRST to ROUNDS the variance over
    the squared rate is 2 (1 - r log(1 / r) / (1 - r)) / ((1 - r) n), with n events expected in all
    and r = FIRST / ROUNDS.
    """
    r, n = FIRST / ROUNDS, 3e-5 * ROUNDS
    return np.sqrt(2 * (1 - r * np.log(1 / r) / (1 - r)) / ((1 - r) * n))


def rate_rows(progress):
    kinds = {
        "the rate of each row, lognormal": (1.0, lambda rates: rates),
        "the rate, constant": (0.0, lambda rates: rates),
        "0.001, constant": (0.0, lambda rates: np.full(len(rates), 1e-3)),
    }
    for name, (spread, scores_of) in kinds.items():
        means = []
        for seed in range(SEEDS):
            progress(f"rare: {name}, seed {seed}")
            rates, y = events(3e-5, ROUNDS, seed, spread)
            predictions = Recalibrator().run(scores_of(rates), y)
            means.append(predictions[FIRST:].mean() / 3e-5)
        off = np.abs(np.array(means) - 1)
        yield [
            name, f"{np.mean(means):.2f}", f"{min(means):.2f} to {max(means):.2f}",
            f"{np.sqrt(np.mean(off**2)):.3f}", f"{(off < 0.1).sum()} of {SEEDS}",
        ]  # fmt: skip
    yield ["(events so far over rows so far)", "1.00", "", f"{chance():.3f}", ""]


def estimates_of(scores, y):
    estimates = np.empty(len(y))
    Recalibrator()._run(scores, y, None, estimates)
    return estimates


def lost(scores, y):
    """Return by how much estimates rank worse than scores: AUC, average precision."""
    estimates, happened = estimates_of(scores, y), y > 0.5
    return [
        measure(happened, scores) - measure(happened, estimates)
        for measure in (roc_auc_score, average_precision_score)
    ]


def ranking_rows(progress):
    for rate, rounds in RARE.items():
        progress(f"rare: ranking at {rate}")
        worst = np.max([lost(*events(rate, rounds, seed)) for seed in range(SEEDS)], axis=0)
        yield [f"made, {rate:.2%}, worst of {SEEDS}", *(f"{loss:+.4f}" for loss in worst)]
    for name in NAMES:
        progress(f"rare: ranking of {name}")
        stream = streams.load(name)
        yield [name, *(f"{loss:+.4f}" for loss in lost(stream.scores, stream.outcomes))]


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield table(
        RATE,
        ["scores", "mean", "from, to", "error (root mean square)", "within 10 %"],
        rate_rows(progress),
    )
    yield table(RANKING, ["stream", "AUC", "average precision"], ranking_rows(progress))
