"""Swap against its slow reference, and what is proved of its learners and its rounding."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Swap
from calibrant.partitions import Partition
from forecasters.cases import partition, stream
from naive.draws import Draws
from naive.swap import Swap as SwapTwin
from naive.swap import action, round_log, round_squared

fixed = settings(derandomize=True, deadline=None, max_examples=300)
unit = st.floats(0, 1)


def theta(p):
    return 2 * math.asin(math.sqrt(p))


def psi(angle):
    return math.sin(angle / 2) ** 2


def actions(forecaster):
    """Return what the learners would predict."""
    state = forecaster._get_state()
    if forecaster.loss == "log":
        return (2 * state["prior"] + state["A"]) / (2 + state["G"])
    return state["A"]


def matrix(forecaster, points):
    """Return Q_t, from the learners' aims by the formulas of the paper."""
    rounding = round_log if forecaster.loss == "log" else round_squared
    Q = np.zeros((len(points), len(points)))
    for s, a in enumerate(actions(forecaster)):
        for to, probability in rounding(a, points).items():
            Q[s, to] = probability
    return Q


def log_partition(number):
    """Return a partition of [theta(eta), theta(1 - eta)], eta = 1/(T + 1), for 500 rounds."""
    eta = theta(1 / 501)
    return partition(number, domain="theta", low=eta, high=math.pi - eta)


def assert_same(forecaster, outcomes, points_for):
    """The forecaster and its twin draw the same and weigh the same to 1e-9, round by round.

    The twin is shown the forecaster's P_t once it has found its own: from one round to the next,
    differences grow by a factor of the order of the number of intervals, because a small change of
    an aim shifts much of the mass, and soon nothing would be left of any two floating-point runs.
    """
    draws = Draws(forecaster.seed)
    T, seen = 64, []
    points = np.asarray(points_for(T))
    twin = SwapTwin(points, forecaster.loss)
    for y in outcomes:
        P = np.zeros(len(points))
        support, weights = forecaster.distribution()
        places = np.abs(points[:, None] - support).argmin(axis=0)
        assert np.abs(points[places] - support).max() <= 1e-15
        P[places] = weights
        expected = twin.place()
        assert np.abs(expected - P).max() <= 1e-9
        drawn = draws.choose(places, expected[places])
        assert places[support == forecaster.predict()] == drawn
        forecaster.update(y)
        twin.learn(P, int(drawn), y)
        seen.append(y)
        if forecaster.intervals is forecaster.partition is None and len(seen) == T:
            T *= 8
            points = np.asarray(points_for(T))
            twin = SwapTwin(points, forecaster.loss, sum(seen) / len(seen))
            seen = []
    aims = [twin.action(s) for s in range(len(points))]
    assert actions(forecaster) == pytest.approx(aims, abs=1e-9)


@pytest.mark.parametrize("loss", ["squared", "log"])
@pytest.mark.parametrize("number", range(40))
def test_agrees_with_its_twin(number, loss):
    cut = log_partition(number) if loss == "log" else partition(number)
    forecaster = Swap(loss, partition=cut, seed=number)
    points = cut.probabilities()
    assert_same(forecaster, stream(number, 80), lambda _: points)


@pytest.mark.parametrize("loss", ["squared", "log"])
@pytest.mark.parametrize("number", range(4))
def test_agrees_with_its_twin_over_blocks(number, loss):
    def points_for(T):
        K = round(T ** (1 / 3))
        if loss == "squared":
            return [i / K for i in range(K + 1)]
        inner = [math.sin(math.pi * i / (2 * K)) ** 2 for i in range(1, K)]
        low, high = math.sin(math.pi / (4 * K)) ** 2, math.cos(math.pi / (4 * K)) ** 2
        return [low, *inner, high]

    # 64 and 512 rounds are two blocks; the rest is in the third.
    assert_same(Swap(loss, seed=number), stream(number, 640), points_for)


def test_the_grid_of_the_log_loss():
    K = 5
    predictions = set(Swap("log", intervals=K, seed=1).run(stream(1, 5000)).tolist())
    grid = [math.sin(math.pi / 20) ** 2, math.cos(math.pi / 20) ** 2]
    grid += [math.sin(math.pi * i / 10) ** 2 for i in range(1, K)]
    assert all(min(abs(p - z) for z in grid) < 1e-15 for p in predictions)
    assert len(predictions) >= 4


@pytest.mark.parametrize("loss", ["squared", "log"])
@pytest.mark.parametrize("number", range(20))
def test_the_distribution_is_stationary(number, loss):
    """P_t Q_t = P_t to 1e-12, on chains that are periodic or reducible as often as not."""
    cut = log_partition(number) if loss == "log" else partition(number)
    points = cut.probabilities()
    forecaster = Swap(loss, partition=cut, seed=number)
    for y in stream(number, 100):
        support, weights = forecaster.distribution()
        P = np.zeros(len(points))
        P[np.searchsorted(points, support)] = weights
        assert np.abs(P @ matrix(forecaster, points) - P).max() <= 1e-12
        forecaster.update(y)


def set_learners(forecaster, A, G, last=0):
    """Give the learners of a fresh forecaster these sums, as if they came of so many rounds."""
    state, seen = forecaster._get_state(), int(sum(G))
    state |= {"A": np.array(A, dtype=float), "G": np.array(G, dtype=float)}
    forecaster._set_state({**state, "seen": seen, "last": last}, seen)


def test_a_periodic_class_is_solved():
    """Outcomes that send 0 to 1 and 1 to 0: power iteration would never settle."""
    forecaster = Swap(intervals=1, seed=0)
    set_learners(forecaster, [1.0, 0.0], [3.0, 3.0])
    points, weights = forecaster.distribution()
    assert points.tolist() == [0.0, 1.0]
    assert weights.tolist() == [0.5, 0.5]


def test_of_several_closed_classes_the_first_is_taken():
    """From 1/2 the chain may be caught in 0 or in 1; from 1 only there."""
    forecaster = Swap(intervals=2, seed=0)
    set_learners(forecaster, [0.0, 0.75, 1.0], [1, 1, 1], last=1)
    assert forecaster.predict() == 1.0
    forecaster = Swap(partition=Partition([0, 0.25, 0.75, 1]), seed=0)
    set_learners(forecaster, [0.0, 0.5, 0.1, 1.0], [1, 1, 1, 1], last=3)
    assert forecaster.predict() == 1.0
    forecaster = Swap(partition=Partition([0, 0.25, 0.75, 1]), seed=0)
    set_learners(forecaster, [0.0, 0.5, 0.1, 1.0], [1, 1, 1, 1], last=1)
    assert forecaster.predict() == 0.0


def test_a_tiny_way_out_is_a_way_out():
    """The larger probability does not lead to the closed class: 1/2 leaks into 1 for good."""
    forecaster = Swap(intervals=2, seed=0)
    set_learners(forecaster, [0.5, 0.5 + 1e-12, 1.0], [1, 1, 1], last=1)
    assert forecaster.predict() == 1.0


@pytest.mark.parametrize("number", range(12))
def test_ewoo_stays_inside(number):
    """Lemma `range_ast`: 1/(T + 1) <= a_s <= 1 - 1/(T + 1) in every one of T rounds."""
    T = 300
    outcomes = [np.zeros(T), np.ones(T), stream(number, T)][number % 3]
    forecaster = Swap("log", intervals=2 + number, horizon=T, seed=number)
    for y in outcomes:
        # Before round t the lemma's proof gives 1/(t + 2), t rounds having been played.
        bound = 1 / (forecaster.rounds + 2)
        assert (actions(forecaster) >= bound * (1 - 1e-12)).all()
        assert (1 - actions(forecaster) >= bound * (1 - 1e-12)).all()
        forecaster.update(y)


def one_row(loss, points, a):
    """Return H(a) as the kernel rounds it, read off a chain in which every point aims at a."""
    forecaster = Swap(loss, partition=Partition(points), seed=0)
    prior, mass = forecaster._get_state()["prior"], 1e6
    aim = a if loss == "squared" else a * (mass + 2) - 2 * prior
    set_learners(forecaster, np.full(len(points), aim), np.full(len(points), mass))
    # All rows are equal, so that each is stationary.
    return forecaster.distribution()


@fixed
@given(unit, unit, unit)
def test_rounding_for_the_squared_loss(x, y, share):
    """Lemma `two_points_dist`: the mean stays and the loss grows by Delta^2/4 at most."""
    low, high = min(x, y), max(x, y)
    if high - low < 1e-9:
        return
    a = low + share * (high - low)
    points, weights = one_row("squared", [low, high], a)
    assert points @ weights == pytest.approx(min(a, high), abs=1e-12)
    for outcome in (0, 1):
        cost = weights @ (points - outcome) ** 2 - (a - outcome) ** 2
        assert cost <= (high - low) ** 2 / 4 + 1e-12


@fixed
@given(st.floats(0.05, math.pi - 0.05), st.floats(1e-4, math.pi / 2), unit)
def test_rounding_for_the_log_loss(start, width, share):
    """Lemma `two_point_dist_theta`: the loss grows by tan^2(Delta/2) at most, Delta <= pi/2."""
    end = min(start + width, math.pi - 0.04)
    d, b = psi(start), psi(end)
    a = d + share * (b - d)
    points, weights = one_row("log", [d, b], a)
    for loss in (lambda p: -np.log(p), lambda p: -np.log1p(-p)):
        assert weights @ loss(points) - loss(a) <= math.tan((end - start) / 2) ** 2 + 1e-9
    # E[1/s] = (1 - a)/F and E[1/(1 - s)] = a/F with F = a + db - a(d + b): the lemma's two steps.
    F = a + d * b - a * (d + b)
    assert weights @ (1 / points) == pytest.approx((1 - a) / F, rel=1e-6)
    assert weights @ (1 / (1 - points)) == pytest.approx(a / F, rel=1e-6)


@fixed
@given(unit, unit)
def test_angles_are_close_where_probabilities_are(p, q):
    """Lemma `theta_diff_basic_inequality`, on the angles that partitions are made of."""

    def kl(a, b):
        terms = [(a, b), (1 - a, 1 - b)]
        if any(x > 0 and y == 0 for x, y in terms):
            return math.inf
        return sum(x * math.log(x / y) for x, y in terms if x > 0)

    square = (theta(p) - theta(q)) ** 2
    bound = min(2 * math.pi**2 * abs(p - q), math.pi**2 * kl(p, q), math.pi**2 * kl(q, p))
    assert square <= bound + 1e-12
    cut = Partition(sorted({0.0, theta(p), math.pi}), "theta")
    assert np.abs(cut.probabilities() - p).min() <= 1e-15


@fixed
@given(unit, st.floats(1e-6, 0.5), unit)
def test_the_square_of_a_loss_is_bounded_by_its_mean(p, eta, share):
    """Lemma `bound_diff_log_loss_square`: E (l(x) - l(p))^2 <= 2 (log(1/eta) + 1) KL(p, x)."""
    x = eta + share * (1 - 2 * eta)
    terms = [(p, x), (1 - p, 1 - x)]
    gaps = [(a, math.log(a / b)) for a, b in terms if a > 0]
    square, mean = sum(a * gap**2 for a, gap in gaps), sum(a * gap for a, gap in gaps)
    assert square <= 2 * (math.log(1 / eta) + 1) * mean + 1e-12


def test_less_than_half_of_that_bound_would_not_do():
    log = math.log(1e6)  # p = 1 and x = eta: both means are powers of it
    assert log**2 > 0.45 * 2 * (log + 1) * log


def test_the_twin_tells_the_losses_apart():
    """One round with all mass on a point: the learners move as their formulas say."""
    assert action([(1.0, 1.0)], "squared") == 1.0
    assert action([(1.0, 1.0)], "log") == 2 / 3
    for loss in ("squared", "log"):
        forecaster = Swap(loss, intervals=4, seed=0)
        forecaster.update(1.0)
        assert actions(forecaster).max() == action([(1.0, 1.0)], loss)
