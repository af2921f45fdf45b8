"""What the proof of Theorem 4 in docs/zoom-proof.md is made of: Zoom with high probability."""

import math

import numpy as np
import pytest

from calibrant.streams import drift, iid, piecewise
from forecasters.zoom_states import OUTCOMES, ROUNDING, Spoiler, phi, random_points
from naive.zoom import NaiveZoom

# -- the martingale ------------------------------------------------------------------------------


def two_points(random, size):
    """Return the values and chances of centred random variables with two values."""
    p = np.exp(random.uniform(math.log(1e-6), 0, size)) * random.choice([0.5, 1], size)
    p = np.where(random.random(size) < 0.5, p, 1 - p)
    scale = np.exp(random.uniform(-4, 4, size))
    return scale * np.array([1 - p, -p]), np.array([p, 1 - p])


def test_squares_tame_any_centred_variable():
    """Bercu & Touati: E exp(cX - c^2 (X^2 + E X^2) / 2) <= 1; one of the two does not suffice."""
    X, chances = two_points(np.random.default_rng(1), 200_000)

    def mean(own, expected):
        square = own * X**2 + expected * (chances * X**2).sum(axis=0)
        return (chances * np.exp(X - square / 2)).sum(axis=0)

    assert mean(1, 1).max() <= 1 + ROUNDING
    assert mean(1, 0).max() > 1.01
    assert mean(0, 1).max() > 1.01


def test_sums_of_squares_and_of_what_is_expected_of_them():
    """e^(-x) <= 1 - (1 - 1/e) x on [0, 1], and the constants that follow."""
    x = np.linspace(0, 1, 10_001)
    assert (np.exp(-x) <= 1 - (1 - 1 / math.e) * x + ROUNDING).all()
    assert 1 / (1 - 1 / math.e) <= 1.6
    # M <= (c / 2) (2 + 3 * 1.6) G (kappa + 1 + nu) + ... with c = 1 / (14 G).
    assert (2 + 3 * 1.6) / 28 <= 1 / 4
    # Two inequalities on each scale, each with delta / (2 (j + 2)^2).
    assert 2 * sum(1 / (2 * (j + 2) ** 2) for j in range(100_000)) <= 1


# -- the squares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_zeta_of_a_visit(seed):
    z, v, n, _, _, R = random_points(20_000, seed)
    D, cost = n * v + 1 + v, phi(z, v, n, R)
    a, most = np.abs(R) / D, 2 * cost + 0.5
    assert (a**2 <= most / D * (1 + ROUNDING)).all()
    assert (v * a < 1).all()
    for y in OUTCOMES:
        d = z - y
        zeta = 2 * R * d / D - v * a**2 / 2
        assert (np.abs(zeta) <= 2.5 * a + ROUNDING).all()
        squares = 8 * most * d**2 / D, most**2 * v / (10 * D)
        assert (zeta**2 <= sum(squares) * (1 + ROUNDING) + ROUNDING).all()
        # Less than a quarter of the first part would not do.
        assert (zeta**2 > squares[0] / 5 + squares[1]).any()


def check_squares(z, outcomes, share=1.0):
    """A life's d^2 / (N + v) add up to a logarithm and the root of its largest cost."""
    v, d = z * (1 - z), z - np.asarray(outcomes, dtype=float)
    n = np.arange(1, len(d) + 1)
    U = 0.5 + np.concatenate([[0.0], np.cumsum(d)[:-1]])  # b is 0: before each visit
    costs = np.maximum.accumulate(U**2 / ((n - 1) * v + 1))
    sums = np.cumsum(d**2 / (n * v + 1))
    assert (sums <= np.log1p(n * v) + 3 * share * np.sqrt(costs) + 2).all()


@pytest.mark.parametrize("z", [0.5, 0.1, 1e-3, 1e-6])
def test_the_squares_of_a_life(z):
    random = np.random.default_rng(3)
    for mean in (0.0, z / 2, z, min(1, 3 * z), 0.5, 1.0):
        check_squares(z, random.random(3000) < mean)
    for _ in range(20):  # means that turn about
        check_squares(z, random.random(3000) < np.repeat(random.random(30), 100))


def test_the_squares_of_a_life_need_its_costs():
    with pytest.raises(AssertionError):
        check_squares(1e-3, np.ones(3000), share=0.2)


PATHS = {
    "iid": lambda: iid(4000, mean=0.1, seed=1).outcomes,
    "piecewise": lambda: piecewise(4000, segments=10, seed=1).outcomes,
    "drift": lambda: drift(4000, seed=1).outcomes,
}


def squares_on_a_path(twin, choose, rounds):
    """Return the sum of zeta^2 over mixed rounds, and G (kappa + 1 + nu) of the costs so far."""
    total, most = 0.0, 0.0
    for t in range(rounds):
        y = choose(t)
        (_, weights), _ = twin.distribution(), twin.predict()
        point = twin.points[twin.played]
        D, d = point.next_spread, point.z - y
        most = max(most, point.cost)
        if len(weights) == 2:
            R, a = point.imagined_bias, point.weight
            total += (2 * R * d / D - point.variance * a**2 / 2) ** 2
        twin.update(y)
    log, part = math.log(1 + rounds / 4), 2 * most + 0.5
    G = 8 * part * (log + 3 * math.sqrt(most) + 2) + part**2 * log / 10
    return total, G * (len(twin.points) - 2 + len(twin.retired))


@pytest.mark.parametrize("name", PATHS)
def test_the_squares_of_a_path(name):
    outcomes = PATHS[name]().tolist()
    total, bound = squares_on_a_path(NaiveZoom(seed=1), outcomes.__getitem__, len(outcomes))
    assert 0 < total <= bound


def test_the_squares_of_a_path_against_an_opponent():
    twin, opponent = NaiveZoom(seed=2), Spoiler()
    total, bound = squares_on_a_path(twin, lambda _: opponent.choose(twin), 2000)
    assert 0 < total <= bound
