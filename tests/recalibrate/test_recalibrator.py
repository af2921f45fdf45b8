"""The recalibrator: against its slow reference, run against steps, proofs, and how well it does."""

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures import brier, cal2, log_loss
from calibrant.streams import load
from naive.recalibrate import NaiveRecalibrator
from recalibrate.cases import HOSTILE, hostile, random_case
from recalibrate.safe_states import change, excess, slope

SCORED = ["covid_rise", "mlb538", "nba538", "nba_elo", "nfl_elo", "nycflights", "soccer538"]


@pytest.mark.parametrize("number", range(30))
def test_agrees_with_its_twin(number):
    """On every other stream, outcomes arrive up to five rounds late, in an order of their own."""
    kind, scores, outcomes = random_case(number, 500)
    kernel, twin = Recalibrator(kind, seed=number), NaiveRecalibrator(kind, seed=number)
    delays = np.random.default_rng(number).integers(0, 6, 500) * (number % 2)
    for t in range(500):
        expected = twin.predict(scores[t], t)
        assert kernel.predict(scores[t], id=t) == pytest.approx(expected, rel=0, abs=1e-9)
        for late in range(max(t - 5, 0), t + 1):
            if late + delays[late] == t:
                kernel.update(outcomes[late], id=late)
                twin.update(outcomes[late], late)
    state = kernel._whole._get_state()
    np.testing.assert_allclose(state["w"], twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["z"], [point.z for point in twin.safe.points], atol=1e-9)
    np.testing.assert_allclose(state["S"], [point.bias for point in twin.safe.points], atol=1e-9)
    assert state["n"].tolist() == [point.visits for point in twin.safe.points]
    np.testing.assert_allclose(state["g"], [point.rounds_in_gap for point in twin.safe.points])


@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_its_twin_where_neighbours_are_mixed(seed):
    """A contrary opponent makes every point biased, so that draws decide."""
    scores, _, _ = hostile("inverted", 2500, seed)
    kernel, twin = Recalibrator(seed=seed), NaiveRecalibrator(seed=seed)
    mixed = 0
    for t, score in enumerate(scores):
        mixed += len(kernel.distribution(score)[0]) == 2
        outcome = float(kernel.expected(score) < 0.5)
        assert kernel.predict(score) == pytest.approx(twin.predict(score, t), rel=0, abs=1e-9)
        kernel.update(outcome)
        twin.update(outcome, t)
    assert mixed > 100


@pytest.mark.parametrize("number", range(15))
def test_run_is_bit_for_bit_the_steps(number):
    kind, scores, outcomes = random_case(number, 2000)
    running, stepping = Recalibrator(kind, seed=3), Recalibrator(kind, seed=3)
    steps = []
    for score, outcome in zip(scores, outcomes, strict=True):
        steps.append(stepping.predict(score))
        stepping.update(outcome)
    halves = [running.run(scores[:777], outcomes[:777]), running.run(scores[777:], outcomes[777:])]
    assert np.concatenate(halves).tolist() == steps
    assert running.to_bytes() == stepping.to_bytes()
    assert (running.rounds, running.learned, running.pending) == (2000, 2000, 0)


def contrary(recalibrator, scores):
    """Play the outcome that is less expected; yield the state and P_t of each round before it."""
    for score in scores:
        points, weights = recalibrator.distribution(score)
        state = recalibrator._whole._get_state()
        outcome = float(points @ weights < 0.5)
        yield state, points, weights, outcome
        recalibrator.predict(score)
        recalibrator.update(outcome)


@pytest.mark.parametrize("name", ["inverted", "constant"])
def test_what_is_proved_of_the_safe_stage(name):
    """Places are admissible, or paid for, and mixed with each other's slope.

    `test_safe_proof.py` checks the rest, for means that no mixture would ask for.
    """
    scores, _, _ = hostile(name, 4000, seed=1)
    mixed_rounds = bets = 0
    for state, points, weights, _ in contrary(Recalibrator(seed=1), scores):
        z, v, n, S = state["z"], state["v"], state["n"], state["S"]
        e = excess(v, n, S)
        at = np.searchsorted(z, points)
        assert (z[at] == points).all()
        assert ((points > 0) & (points < 1)).all()
        if len(points) == 2:
            mixed_rounds += 1
            assert at[1] == at[0] + 1
            assert (e[at] > 0).all()
            assert S[at[0]] < 0 < S[at[1]]
            a, b = slope(v[at], n[at], S[at])
            assert weights == pytest.approx([b / (a + b), a / (a + b)], rel=1e-9)
        elif e[at[0]] > 0 and at[0] not in (1, len(z) - 2):
            bets += 1
            point = (z[at[0]], v[at[0]], n[at[0]], S[at[0]])
            assert max(change(*point, 0), change(*point, 1)) <= state["purse"][0] + 1e-9
    assert mixed_rounds > 100
    assert bets > 10


@pytest.mark.parametrize("name", ["switched", "ten teeth"])
def test_the_mixture_follows_the_best_expert_of_any_stretch(name):
    """A weight never falls below 0.00005 of its prior, and keeps 0.99995 of itself a round."""
    scores, _, outcomes = hostile(name, 12_000, seed=3)
    recalibrator = Recalibrator(seed=3)
    priors = recalibrator._whole._get_state()["w"]
    likelihoods = np.empty((12_000, 25))  # of the mixture, then of each expert
    for t in range(12_000):
        begun = recalibrator._whole._begin(scores[t])
        means = np.array([begun.mean, *begun.experts])
        likelihoods[t] = means if outcomes[t] else 1 - means
        recalibrator._whole._finish(begun, outcomes[t])
    losses = -np.log(likelihoods)
    for start, end in [(0, 12_000), (4900, 5100), (5000, 5200), (5000, 10_000), (11_000, 12_000)]:
        mixture, *experts = losses[start:end].sum(axis=0)
        head_start = -np.log(priors if start == 0 else 5e-5 * priors)
        slack = head_start - (end - start) * np.log(1 - 5e-5)
        assert mixture <= (experts + slack).min()


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_outcome_for_ever_keeps_every_prediction_inside(outcome):
    recalibrator = Recalibrator()
    predictions = recalibrator.run(np.full(20_000, 1 - outcome), np.full(20_000, outcome))
    assert ((predictions > 0) & (predictions < 1)).all()
    assert abs(predictions[-1] - outcome) < 0.002


# Limits with room for other seeds: three of them measured a Cal2 of 38 at most, and a Brier score
# 0.0027 above the true map's for ten teeth, 0.0024 or less for the others. Raw inverted scores are
# 0.33 above it.
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_scores(name):
    scores, means, outcomes = hostile(name, 50_000, seed=1)
    predictions = Recalibrator(seed=1).run(scores, outcomes)
    allowed = 0.005 if name in ("inverted", "random", "ten teeth") else 0.02
    assert cal2(predictions, outcomes) <= 60
    assert brier(predictions, outcomes) <= brier(means, outcomes) + allowed


@pytest.mark.parametrize("name", ["inverted", "constant"])
def test_a_contrary_opponent(name):
    scores, _, _ = hostile(name, 10_000, seed=2)
    recalibrator, predictions, outcomes = Recalibrator(seed=2), [], []
    for score in scores:
        outcomes.append(float(recalibrator.expected(score) < 0.5))
        predictions.append(recalibrator.predict(score))
        recalibrator.update(outcomes[-1])
    assert cal2(predictions, outcomes) <= 60


# When the bias turns faster than outcomes arrive, what they say of it is out of date. Three seeds
# gave 0.0033 above the raw scores at most; weights that do not heed the delay, 0.0157 at least.
def test_a_bias_that_turns_before_the_outcomes_come():
    random = np.random.default_rng(6)
    rounds, late = 20_000, 1_000
    logits = random.normal(-1, 1, rounds)
    bias = random.normal(0, 1.2, rounds // 500)[np.arange(rounds) // 500]
    outcomes = (random.random(rounds) < 1 / (1 + np.exp(-logits - bias))).astype(float)
    scores = 1 / (1 + np.exp(-logits))
    recalibrator, predictions = Recalibrator(), np.empty(rounds)
    for t in range(rounds):
        predictions[t] = recalibrator.predict(scores[t], id=t)
        if t >= late:
            recalibrator.update(outcomes[t - late], id=t - late)
    assert brier(predictions, outcomes) <= brier(scores, outcomes) + 0.006


@pytest.mark.parametrize("name", SCORED)
def test_real_streams(name):
    stream = load(name)
    scores, outcomes = stream.scores, stream.outcomes
    predictions = Recalibrator(seed=1).run(scores, outcomes)
    assert cal2(predictions, outcomes) <= 50
    # Never much worse than the raw scores, whatever these are worth.
    assert brier(predictions, outcomes) <= brier(scores, outcomes) + 0.0004
    assert log_loss(predictions, outcomes) <= log_loss(scores, outcomes) + 0.0004
    if name == "nycflights":
        assert brier(predictions, outcomes) <= 0.1445
        assert log_loss(predictions, outcomes) <= 0.4545


def test_logits_and_margins_are_worth_what_probabilities_are():
    stream = load("nba538")
    inside = np.clip(stream.scores, 1e-4, 1 - 1e-4)
    logits = np.log(inside / (1 - inside))
    plain = brier(Recalibrator().run(stream.scores, stream.outcomes), stream.outcomes)
    as_logits = Recalibrator("logit").run(logits, stream.outcomes)
    as_margins = Recalibrator("margin").run(1000 * logits, stream.outcomes)
    assert brier(as_logits, stream.outcomes) == pytest.approx(plain, abs=1e-3)
    assert brier(as_margins, stream.outcomes) == pytest.approx(plain, abs=2e-3)


def test_a_model_replaced_in_mid_stream():
    scores, _, outcomes = hostile("inverted", 10_000, seed=4)
    scores = np.where(np.arange(10_000) < 5000, scores, 1 - scores)
    predictions = Recalibrator().run(scores, outcomes)
    means = np.where(np.arange(10_000) < 5000, 1 - scores, scores)
    late = slice(5500, None)
    assert brier(predictions[late], outcomes[late]) <= brier(means[late], outcomes[late]) + 0.01


def test_how_late_outcomes_come_survives_saving():
    """A prediction without an id, overtaken by others, then saved: late it stays."""
    recalibrator = Recalibrator(seed=5)
    recalibrator.predict(0.8)
    for day in range(50):
        recalibrator.predict(0.3, id=day)
    other = Recalibrator.from_bytes(recalibrator.to_bytes())
    for each in (recalibrator, other):
        each.update(1)
    assert recalibrator._whole._get_state()["lag"].tolist() == [0.5]
    assert other.to_bytes() == recalibrator.to_bytes()
