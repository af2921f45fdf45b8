"""The rivals against their slow references, and what is proved of them."""

import math

import numpy as np
import pytest

from calibrant.forecasters.rivals import (
    AOSA,
    K29,
    AbernethyBartlettHazan,
    ContextTree,
    DyadicHedge,
    ExponentialWindow,
    Foster1999,
    FosterHart,
    FosterVohra,
    K29Star,
    MarkovTable,
    RunningMean,
    SeasonalTable,
    SlidingWindow,
    UCalibration,
)
from calibrant.measures import cal1, lower_distance, smooth_calibration, u_calibration
from calibrant.streams import Contrarian, Greedy, play
from forecasters.cases import random_stream
from naive import rivals as naive

STREAMS = range(40)
ADVERSARIES = {"greedy": lambda: Greedy("l1"), "contrarian": Contrarian}
every_adversary = pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES)


# -- the slow references ---------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 7, 50, 400])
def test_sliding_window_agrees_with_its_twin(window):
    for number in STREAMS:
        outcomes = random_stream(number, 300)
        predictions = SlidingWindow(window).run(outcomes)
        twin = naive.sliding_window(outcomes.tolist(), window)
        assert predictions.tolist() == pytest.approx(twin, abs=1e-12)


def test_a_window_that_never_fills_is_the_running_mean():
    outcomes = random_stream(1, 300)
    assert (SlidingWindow(300).run(outcomes) == RunningMean().run(outcomes)).all()


def test_rounding_does_not_pile_up_in_a_window():
    """Without a fresh sum each lap, a million additions and subtractions leave a trace."""
    forecaster = SlidingWindow(3)
    forecaster.run(np.random.default_rng(0).random(1_000_000))
    forecaster.run([0.0, 0.0, 0.0])
    assert forecaster.predict() == pytest.approx(0.2, abs=1e-15)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_tables_agree_with_their_twins(size):
    for number in STREAMS:
        outcomes = random_stream(number, 300)
        predictions = MarkovTable(size).run(outcomes).tolist()
        assert predictions == pytest.approx(naive.markov_table(outcomes.tolist(), size), abs=1e-12)
        predictions = SeasonalTable(size + 1).run(outcomes).tolist()
        twin = naive.seasonal_table(outcomes.tolist(), size + 1)
        assert predictions == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_context_tree_agrees_with_its_twin(depth):
    for number in range(6):
        outcomes = np.round(random_stream(number, 40))
        predictions = ContextTree(depth).run(outcomes).tolist()
        assert predictions == pytest.approx(naive.context_tree(outcomes.tolist(), depth), abs=1e-9)


@pytest.mark.parametrize("halflife", [0.5, 3, 500])
def test_exponential_window_agrees_with_its_twin(halflife):
    for number in STREAMS:
        outcomes = random_stream(number, 200)
        predictions = ExponentialWindow(halflife).run(outcomes)
        twin = naive.exponential_window(outcomes.tolist(), halflife)
        assert predictions.tolist() == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("bins", [1, 2, 3, 10, 47])
def test_foster_1999_agrees_with_its_twin_bit_for_bit(bins):
    for number in STREAMS:
        outcomes = random_stream(number, 300)
        predictions = Foster1999(bins, seed=number).run(outcomes)
        assert predictions.tolist() == naive.foster_1999(outcomes.tolist(), bins, number)


@pytest.mark.parametrize("rate", [None, 0.05, 3.0])
@pytest.mark.parametrize("gaps", [1, 2, 3, 10, 47])
def test_abernethy_bartlett_hazan_agrees_with_its_twin_bit_for_bit(gaps, rate):
    for number in STREAMS:
        outcomes = random_stream(number, 300)
        predictions = AbernethyBartlettHazan(gaps, rate=rate, seed=number).run(outcomes)
        twin = naive.abernethy_bartlett_hazan(outcomes.tolist(), gaps, rate, number)
        assert predictions.tolist() == twin


@pytest.mark.parametrize(("bins", "rate"), [(2, 1.0), (3, None), (10, 1.0), (10, None), (23, 5.0)])
def test_foster_vohra_agrees_with_its_twin(bins, rate):
    """The twin solves a linear system with subtractions, so its last digits are not to be had."""
    for number in STREAMS:
        outcomes = random_stream(number, 200)
        predictions, distributions = FosterVohra(bins, rate=rate, seed=number).trace(outcomes)
        twin, weights = naive.foster_vohra(outcomes.tolist(), bins, rate, number)
        assert predictions.tolist() == pytest.approx(twin, abs=1e-12)
        assert np.abs(distributions.weights.reshape(weights.shape) - weights).max() < 1e-9


@pytest.mark.parametrize(("gaps", "width"), [(1, 0.5), (8, 0.1), (33, 0.02), (50, 2.0)])
@pytest.mark.parametrize("cls", [K29, K29Star])
def test_k29_agrees_with_its_twin_bit_for_bit(cls, gaps, width):
    for number in STREAMS:
        outcomes = random_stream(number, 50)
        predictions = cls(gaps, width=width).run(outcomes)
        twin = naive.k29(outcomes.tolist(), gaps, width, cls is K29Star)
        assert predictions.tolist() == twin


@pytest.mark.parametrize("gaps", [1, 2, 3, 10, 47])
def test_aosa_agrees_with_its_twin_bit_for_bit(gaps):
    for number in STREAMS:
        outcomes = random_stream(number, 150)
        predictions = AOSA(gaps).run(outcomes)
        assert predictions.tolist() == naive.aosa(outcomes.tolist(), gaps)[0]


@pytest.mark.parametrize("gaps", [1, 2, 10, 47])
def test_u_calibration_agrees_with_its_twin(gaps):
    for number in STREAMS:
        outcomes = random_stream(number, 150)
        forecaster = UCalibration(gaps, seed=number)
        found = np.zeros((150, gaps + 1))
        for t, y in enumerate(outcomes):
            points, weights = forecaster.distribution()
            found[t, np.rint(points * gaps).astype(int)] = weights
            forecaster.update(y)
        assert np.abs(found - naive.u_calibration(outcomes.tolist(), gaps)).max() < 1e-13


def test_dyadic_hedge_agrees_with_its_twin_bit_for_bit():
    for number in STREAMS:
        outcomes = random_stream(number, 250)
        predictions = DyadicHedge(seed=number).run(outcomes)
        assert predictions.tolist() == naive.dyadic_hedge(outcomes.tolist(), number)[0]


# -- what is proved --------------------------------------------------------------------------------


def size_of(forecaster):
    """Return N, the number of bins or of a grid's gaps."""
    return forecaster.bins if hasattr(forecaster, "bins") else forecaster.gaps


def foster_1999_bound(T, N):
    # Sum of squared positive excesses and deficits: the mix makes the cross terms cancel and a
    # residual is at most 1, so it is at most T on average; N of them sum to at most sqrt(N T).
    # A bin without any is off by half its width, T/(2N) in all.
    return T / (2 * N) + math.sqrt(N * T)


def abernethy_bartlett_hazan_bound(T, m):
    # T/(2m) for the value of the game, sqrt((m + 1) T) for the regret of gradient ascent with
    # |theta|^2 <= m + 1 and gradients of norm at most 1, and sqrt((m + 1) T/2) for the draws: the
    # point k has variance w(k)(1 - w(k)), and these sum to at most 1/2 a round.
    return T / (2 * m) + (1 + math.sqrt(0.5)) * math.sqrt((m + 1) * T)


def foster_hart_bound(T, N):
    # Mixing neighbours raises the sum of S^2 by 1 + |S|/N on average, S being the bias of the point
    # played. Were it so point by point, |S| <= n/N + sqrt(n) for n visits, hence the sum; the
    # points trade among each other, which this leaves out.
    return T / N + math.sqrt((N + 1) * T)


@every_adversary
@pytest.mark.parametrize("T", [1000, 10_000, 100_000])
@pytest.mark.parametrize(
    ("cls", "bound"),
    [
        (Foster1999, foster_1999_bound),
        (AbernethyBartlettHazan, abernethy_bartlett_hazan_bound),
        (FosterHart, foster_hart_bound),
    ],
)
def test_cal1_is_of_order_two_thirds_against_adversaries(cls, bound, T, adversary):
    """With N = T^(1/3) each bound is c T^(2/3), c at most 2.3; measured are 0.1 to 0.8."""
    for seed in range(3):
        forecaster = cls.for_horizon(T, seed=seed)
        N = size_of(forecaster)
        assert bound(T, N) <= 2.4 * T ** (2 / 3)
        game = play(forecaster, adversary(), T)
        assert cal1(game.predictions, game.outcomes) <= bound(T, N)


def test_foster_vohra_keeps_its_regret_bound():
    """Exponential weights on K pairs with gains in [-1, 1]: R <= log(K)/eta + eta T/2.

    Two hostile streams, and two on which a forecaster that learns nothing has a regret of
    T/8 * 0.875 = 546 where 201 is allowed.
    """
    T, bins = 5000, 8
    pairs = math.log(bins * (bins - 1))
    eta = math.sqrt(2 * pairs / T)
    hostile = [play(FosterVohra(bins, rate=eta), make(), T) for make in ADVERSARIES.values()]
    for outcomes in [game.outcomes for game in hostile] + [np.zeros(T), np.ones(T)]:
        _, distributions = FosterVohra(bins, rate=eta).trace(outcomes)
        p = distributions.weights.reshape(T, bins)
        losses = ((np.arange(bins) + 0.5) / bins - outcomes[:, None]) ** 2
        regret = (p * losses).sum(axis=0)[:, None] - p.T @ losses
        assert regret.max() <= math.sqrt(2 * T * pairs)


@every_adversary
@pytest.mark.parametrize(("cls", "variance"), [(K29, 1.0), (K29Star, 0.25)])
def test_k29_keeps_its_residuals_short_in_the_kernels_space(cls, variance, adversary):
    """A round adds 2 S(p)(y - p) + (y - p)^2 to the squared norm f^2 of the residuals.

    At a root that is at most the variance v: (y - p)^2 <= 1, or p(1 - p) <= 1/4 for K29*. Rounding
    leaves |S| <= f/(2 N width), because two neighbours of opposite signs differ by at most
    f/(N width) (and 1/(2N) for the extra term of K29*, which differs by 1/N). So
    f^2 grows by at most v' + f/(N width), and f <= sqrt(v' T) + T/(2 N width).
    """
    for T in (1000, 30_000):
        forecaster = cls.for_horizon(T, width=0.2)
        N, width = forecaster.gaps, forecaster.width
        game = play(forecaster, adversary(), T)
        at = np.rint(game.predictions * N).astype(int)
        residuals = np.bincount(at, game.outcomes - game.predictions, minlength=N + 1)
        grid = np.arange(N + 1) / N
        kernel = np.exp(-((grid[:, None] - grid[None, :]) ** 2) / (2 * width**2))
        norm = math.sqrt(max(0.0, residuals @ kernel @ residuals))
        grown = variance + (1 / N if cls is K29Star else 0)
        assert norm <= math.sqrt(grown * T) + T / (2 * N * width)


@every_adversary
@pytest.mark.parametrize("T", [100, 1000, 10_000])
def test_u_calibration_has_no_regret_for_any_threshold(T, adversary):
    """Hedge: log(2)/eta_T + sum eta_t/8 <= sqrt(T log 2), in gains of 1; the grid adds T/(2 N).

    With the wrong sign a constant stream has a regret of order T at its own thresholds.
    """
    played = play(UCalibration.for_horizon(T), adversary(), T).outcomes
    for outcomes in (played, np.round(random_stream(1, T)), (np.arange(T) > T / 2) * 1.0):
        forecaster = UCalibration.for_horizon(T)
        N = forecaster.gaps
        below = np.zeros((T, N + 1))  # the probability of predicting at most i/N
        for t, y in enumerate(outcomes):
            points, weights = forecaster.distribution()
            below[t, np.rint(points * N).astype(int)] = weights
            forecaster.update(y)
        above = 1 - np.cumsum(below, axis=1)[:, :-1]
        gains = outcomes[:, None] - (np.arange(N) + 0.5) / N
        regret = np.maximum(gains.sum(axis=0), 0) - (gains * above).sum(axis=0)
        assert regret.max() <= math.sqrt(T * math.log(2))
    # Drawing adds at most 4 standard deviations of a sum of T numbers in [-1, 1].
    game = play(UCalibration.for_horizon(T), adversary(), T)
    bound = 2 * math.sqrt(T * math.log(2)) + T / N + 4 * math.sqrt(T)
    assert u_calibration(game.predictions, game.outcomes) <= bound


def zero_one_stream(number, rounds):
    return np.round(random_stream(number, rounds))


@pytest.mark.parametrize("number", STREAMS)
def test_aosa_has_a_calibrated_shadow_next_to_it(number):
    """The proof: a shadow with Cal1 <= m + 1 that is never further away than 1/m."""
    m = 12
    outcomes = zero_one_stream(number, 144).tolist()
    predictions = AOSA(m).run(outcomes)
    shadow = naive.aosa(outcomes, m)[1]
    assert cal1(shadow, outcomes) <= m + 1
    assert np.abs(predictions - shadow).max() <= 1 / m + 1e-15


@every_adversary
@pytest.mark.parametrize("T", [1000, 10_000, 100_000])
def test_aosa_keeps_near_calibration(T, adversary):
    """The distance is at most m + 1 + T/m, and smooth calibration at most twice the distance.

    With m off sqrt(T) by 1/2 at the most, m + T/m exceeds 2 sqrt(T) by less than 1/sqrt(T).
    """
    bound = 2 * math.sqrt(T) + 1 + 1 / math.sqrt(T)
    game = play(AOSA.for_horizon(T), adversary(), T)
    assert smooth_calibration(game.predictions, game.outcomes) <= 2 * bound
    if T == 1000:
        assert lower_distance(game.predictions, game.outcomes) <= bound


# -- arguments and saved states --------------------------------------------------------------------


@pytest.mark.parametrize(
    "cls", [Foster1999, FosterVohra, AbernethyBartlettHazan, K29, K29Star, AOSA]
)
def test_horizons_are_checked(cls):
    assert size_of(cls.for_horizon(1)) >= 1
    with pytest.raises(ValueError, match="horizon must be an integer"):
        cls.for_horizon(0)
