"""Evidence that recalibration helps: a martingale if the scores are true."""

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.monitor import gain_evidence


def test_it_is_the_product_of_likelihood_ratios():
    found = np.exp(gain_evidence([0.5, 0.25, 0.5], [0.6, 0.5, 0.2], [1, 0, 0.5]))
    assert found == pytest.approx(np.cumprod([1.2, 0.5 / 0.75, 0.5 * 0.4 + 0.5 * 1.6]))


def test_true_scores_seldom_lose():
    """P(ever 20) <= 1 / 20; of 300 runs, more than 15 + 4 sqrt(14.25) with chance 4e-5."""
    rang = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        scores = random.beta(2, 4, 400)
        outcomes = random.random(400) < scores
        bolder = np.clip(scores + random.normal(0, 0.1, 400), 0.01, 0.99)
        rang += gain_evidence(scores, bolder, outcomes).max() >= np.log(20)
    assert rang <= 15 + 4 * np.sqrt(14.25)


def test_wrong_scores_lose_to_the_recalibrator():
    random = np.random.default_rng(1)
    scores = random.beta(2, 4, 5_000)
    outcomes = random.random(5_000) < scores**2
    calibrated = Recalibrator().run(scores, outcomes)
    assert gain_evidence(scores, calibrated, outcomes)[-1] > np.log(1e6)
    true = random.random(5_000) < scores
    assert gain_evidence(scores, Recalibrator().run(scores, true), true)[-1] < np.log(20)


def test_what_peeks_wins_so_predictions_must_come_first():
    outcomes = np.arange(100) % 2
    assert gain_evidence(np.full(100, 0.5), 0.4 + 0.2 * outcomes, outcomes)[-1] > np.log(1e6)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="same length"):
        gain_evidence([0.5], [0.5, 0.5], [1])
    with pytest.raises(ValueError, match="calibrated must be in"):
        gain_evidence([0.5], [1.5], [1])
