"""The repair of the mixture's estimate: its bound, what it mends, and its saved state."""

import math

import numpy as np
import pytest

from calibrant import EventForecaster
from calibrant.streams import hidden_markov
from naive.repair import NaiveRepair


def likelihood(p, y):
    return p if y else 1 - p


def losses(estimates, outcomes, repair):
    """Return the log losses of the estimates, and of what becomes of them, after each round."""
    plain, repaired = [], []
    for estimate, y in zip(estimates, outcomes, strict=True):
        predicted, mended = repair.say(estimate)
        plain.append(-math.log(likelihood(estimate, y)))
        repaired.append(-math.log(likelihood(mended, y)))
        repair.learn(predicted, y, likelihood)
    return np.cumsum(plain), np.cumsum(repaired)


def made_estimates(kind, rounds, seed):
    """Return estimates that are right, always wrong alike, or wrong in turn; and outcomes."""
    random = np.random.default_rng([seed, rounds])
    estimates = random.uniform(0.02, 0.98, rounds)
    odds = np.log(estimates / (1 - estimates))
    if kind == "flat":
        odds = 0.6 * odds
    elif kind == "turns":
        odds = odds + np.where(np.arange(rounds) // 1000 % 2 == 0, 0.5, -0.5)
    truth = 1 / (1 + np.exp(-odds))
    outcomes = (random.random(rounds) < truth).astype(float)
    if kind == "hostile":
        outcomes = (estimates < 0.5).astype(float)
        outcomes[rounds // 2 :] = 1 - outcomes[rounds // 2 :]
    return estimates.tolist(), outcomes.tolist()


@pytest.mark.parametrize("kind", ["right", "flat", "turns", "hostile"])
def test_repair_costs_no_more_than_its_bound(kind):
    for seed in range(3):
        plain, repaired = losses(*made_estimates(kind, 4000, seed), NaiveRepair())
        most = -math.log(0.9) - np.arange(1, 4001) * math.log1p(-5e-5)
        assert (repaired <= plain + most + 1e-9).all()


def test_the_bound_fails_if_maps_start_with_the_weight():
    repair = NaiveRepair()
    repair.weights = [0.1, 0.45, 0.45]
    # Beyond their last place, maps say less than the estimate.
    plain, repaired = losses([0.999999] * 4000, [1.0] * 4000, repair)
    assert repaired[-1] > plain[-1] - math.log(0.9)


def test_estimates_that_are_wrong_alike_are_mended():
    gains = []
    for seed in range(4):
        plain, repaired = losses(*made_estimates("flat", 10_000, seed), NaiveRepair())
        gains.append((plain[-1] - repaired[-1]) / 10_000)
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize(
    "change",
    [
        {"repair_w": np.array([0.5, 0.5, 0.0])},
        {"repair_w": np.array([0.5, 0.5, 0.5])},
        {"repair_w": np.array([1.0])},
        {"repair_met": np.zeros(49)},
        {"repair_met": np.full(49, -1.0)},
        {"repair_mean": np.full(98, 1.0)},
        {"repair_mean": np.full(98, np.nan)},
        {"repair_mean": np.full(97, 0.5)},
        {"repair_mean": None},
    ],
)
def test_a_forged_state_is_refused(change):
    forecaster = EventForecaster()
    forecaster.run(hidden_markov(300, seed=1).outcomes)
    rounds, state = forecaster._save()
    EventForecaster()._load(rounds, dict(state))
    ((name, value),) = change.items()
    if value is None:
        del state[name]
    else:
        state[name] = value
    with pytest.raises(ValueError, match="saved"):
        EventForecaster()._load(rounds, state)
