"""Several classes of which one is silence."""

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator
from recalibrate.cases import played_until

W, LABELS = 150, ["kept", "returned", "lost"]


def orders(seed, rounds=4_000):
    """Return rows, labels and when those that are announced come; returns rise and fall."""
    random = np.random.default_rng(seed)
    x = random.normal([0.0, -1.5, -2.5], 0.7, (rounds, 3))
    level = 1.3 * np.sign(np.sin(2 * np.pi * np.arange(rounds) / 1_600 + seed))
    truth = x + np.stack([0 * level, level, -0.5 * level], axis=1)
    rows, truth = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (x, truth))
    labels = (random.random((rounds, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    come = np.arange(rounds) + 1 + random.exponential(W / 5, rounds).astype(int)
    labels[come >= np.arange(rounds) + W] = 0
    return rows, labels, np.where(labels == 0, rounds + W, come)


def log_loss(predicted, labels):
    return -np.log(predicted[np.arange(len(labels)), labels]).mean()


@pytest.mark.parametrize("seed", range(2))
def test_silence_is_better_than_waiting(seed):
    rows, labels, come = orders(seed)
    names, end = [LABELS[each] for each in labels], np.arange(len(rows)) + W
    silent = MulticlassRecalibrator(LABELS, silence="kept", after=W)
    silent = played_until(silent, rows, names, come)
    waiting = played_until(MulticlassRecalibrator(LABELS), rows, names, end)
    once = MulticlassRecalibrator(LABELS).run(rows, names)
    losses = [log_loss(predicted, labels) for predicted in (once, silent, waiting)]
    assert losses[1] < losses[0] + 0.6 * (losses[2] - losses[0])  # 0.41 and 0.30 here
