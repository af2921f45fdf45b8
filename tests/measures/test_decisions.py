import numpy as np
import pytest
from hypothesis import given

from calibrant import Interval
from calibrant.measures import cal1, cal2, decision_loss
from calibrant.streams import Contrarian, Drag, Greedy, play
from measures.strategies import repeatable, rounds
from naive import measures as naive


@given(data=rounds(high=14))
@repeatable
def test_equals_the_program_over_proper_payoffs(data):
    # The solver's tolerance of 1e-7 a constraint is multiplied by up to T rounds.
    assert decision_loss(*data) == pytest.approx(naive.decision_loss(*data), abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_program_on_streams(seed):
    rng = np.random.default_rng(seed)
    predictions = rng.integers(0, 13, 200) / 12
    outcomes = (rng.random(200) < np.clip(predictions**2 + 0.2 * rng.random(), 0, 1)).astype(float)
    assert decision_loss(predictions, outcomes) == pytest.approx(
        naive.decision_loss(predictions, outcomes), abs=1e-5
    )


@given(data=rounds(low=1, high=20))
@repeatable
def test_no_decision_problem_regrets_more(data):
    rng = np.random.default_rng(len(data[0]))
    best = decision_loss(*data)
    for _ in range(20):
        payoffs = rng.integers(0, 5, (rng.integers(2, 5), 2)) / 4
        assert naive.swap_regret(*data, payoffs.tolist()) <= best + 1e-9


def test_two_actions_reach_it_when_one_hinge_is_worst():
    # All mass on one prediction just beside 1/2: acting or not pays 1 or 0.
    data = [0.49] * 10, [1] * 10
    act_or_not = [(0.0, 1.0), (1.0, 0.0)]
    assert naive.swap_regret(*data, act_or_not) == pytest.approx(10.0)
    assert decision_loss(*data) == pytest.approx(10.0)


@given(data=rounds())
@repeatable
def test_lies_between_cal2_and_twice_cal1(data):
    loss = decision_loss(*data)
    assert cal2(*data) - 1e-9 <= loss <= 2 * cal1(*data) + 1e-9
    assert loss <= len(data[0]) + 1e-9


def test_no_rounds():
    assert decision_loss([], []) == 0.0


def grid_bound(predictions, outcomes, N):
    """The proposition of docs/theorems/deviation.md, with the smallest a that it holds for."""
    at = np.rint(predictions * N).astype(int)
    n, bias = (
        np.bincount(at, weights, minlength=N + 1) for weights in (None, predictions - outcomes)
    )
    a = np.max((np.abs(bias) - n / N)[n > 0] / np.sqrt(n[n > 0]), initial=0.0)
    T = len(predictions)
    return 2 * a**2 * N * np.log(N) + 4 * a * np.sqrt(T) + 2 * T / N


def hinge(N, a):
    """Predictions k/N whose mean outcomes all lie beyond 1/2, as far as their visits allow."""
    predictions, outcomes = [], []
    for k in range(N // 2):
        visits = round((a / (1 - 2 * k / N)) ** 2)
        ones = min(visits, round(visits * k / N + a * np.sqrt(visits)))
        predictions += [k / N] * visits
        outcomes += [1] * ones + [0] * (visits - ones)
    return np.array(predictions), np.array(outcomes)


@pytest.mark.parametrize("opponent", [Contrarian, lambda: Greedy("l1"), lambda: Drag(20_000)])
def test_small_biases_on_a_grid_leave_a_small_decision_loss(opponent):
    forecaster = Interval.for_deviation(0, 20_000, seed=3)
    game = play(forecaster, opponent(), 20_000)
    N = forecaster.intervals
    assert decision_loss(game.predictions, game.outcomes) <= grid_bound(
        game.predictions, game.outcomes, N
    )
    predictions, outcomes = hinge(64, 2.0)
    found = decision_loss(predictions, outcomes)
    assert found <= grid_bound(predictions, outcomes, 64)
    assert found > grid_bound(predictions, outcomes, 64) / 10
