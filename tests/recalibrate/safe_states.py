"""States of the safe stage for the tests of its proof, rules that are broken, and their games."""

import math
from typing import NamedTuple

import numpy as np

from benchmarks.attack_safe import Game
from naive.safe import NaiveSafe, Point

ROUNDING = 1e-9
OUTCOMES = (0.0, 0.25, 0.5, 1.0)
LENIENT = 1.5  # unless a test says otherwise


def k(x):
    return 2 + LENIENT * np.log(x)


def r(x):
    """The bias that chance explains."""
    return np.sqrt(k(x) * x)


def over(x):
    return np.maximum(x, 0.0)


def f(x):
    return over(x) ** 2 * np.log1p(over(x))


def cost(z, v, n, S):
    N = n * v + 1
    return f(np.abs(S + 0.5 - z) - 0.5 - r(N)) / N


def excess(v, n, S):
    return np.abs(S) - r((n + 1) * v + 1)


def slope(v, n, S):
    e = excess(v, n, S)
    return (f(e) - f(e - 1)) / ((n + 1) * v + 1)


def steepness(v, n, S):
    """Return lambda: how fast the slope of the cost can grow."""
    return 1.5 + np.log1p(over(excess(v, n, S)))


def change(z, v, n, S, y):
    """Return by how much the cost of a point changes with a visit and outcome y."""
    return cost(z, v, n + 1, S + z - y) - cost(z, v, n, S)


def rho(v, n, S):
    N = n * v + 1
    return steepness(v, n, S) * v / (N + v) + (1 / N - 1 / (N + v)) / 4


class Seen(NamedTuple):
    """The grid of one moment."""

    theta: np.ndarray
    z: np.ndarray
    v: np.ndarray
    n: np.ndarray
    S: np.ndarray
    g: np.ndarray

    @property
    def gaps(self):
        return len(self.z) - 1

    @property
    def costs(self):
        return float(cost(*(column[1:-1] for column in self[1:5])).sum())

    def point(self, z):
        """Return z, v, n and S of a point, and its number."""
        at = int(np.flatnonzero(self.z == z)[0])
        return (*(column[at] for column in self[1:5]), at)


def look(stage):
    return Seen(**stage.columns())


class Round(NamedTuple):
    """A round: the grid before it, lo, hi and share, what was drawn, and the grid after it."""

    before: Seen
    placed: tuple[float, float, float]
    point: float
    outcome: float
    after: Seen

    @property
    def gap(self):
        """The number of the gap that a mixed or an end round is played in, or None."""
        lo, hi, _ = self.placed
        _, v, n, S, at = self.before.point(lo)
        if lo < hi:
            return at
        if excess(v, n, S) <= 0:
            return None
        return at if S < 0 else at - 1


class Watched:
    """A stage that hands each of its rounds to a check."""

    def __init__(self, stage, check):
        self.stage, self.check = stage, check
        self.before = look(stage)

    def place(self, mean):
        self.placed = self.stage.place(mean)
        return self.placed

    def learn(self, mean, point, outcome):
        self.stage.learn(mean, point, outcome)
        after = look(self.stage)
        self.check(Round(self.before, self.placed, point, outcome, after))
        self.before = after

    def columns(self):
        return self.stage.columns()


def watch(stage, policy, rounds, check, seed=1):
    """Play a policy against a stage, check every round, and return predictions and outcomes."""
    return Game(Watched(stage, check), rounds, seed).play(policy)


def random_points(count, seed):
    """Return z, v, n and S of points of many kinds: near the ends, hardly visited, far off."""
    random = np.random.default_rng(seed)
    theta = np.where(
        random.random(count) < 0.5,
        random.uniform(0, math.pi, count),
        np.exp(random.uniform(-7, -2, count)),
    )
    theta = np.where(random.random(count) < 0.2, math.pi - theta, theta)
    z = np.sin(theta / 2) ** 2
    v = z * (1 - z)
    n = np.floor(np.exp(random.uniform(0, 14, count))) - 1
    # Most biases are close to what chance explains, where the rule has its edges.
    near = r((n + 1) * v + 1) + random.normal(0, 1, count) * np.exp(random.uniform(-3, 3, count))
    S = near * random.choice([-1, 1], count)
    return z, v, n, np.clip(S, -n * (1 - z), n * z)


class OwnSlopes(NaiveSafe):
    """Broken: each end is drawn with its own slope."""

    def places(self, mean):
        return [(*rest, points, weights[::-1]) for *rest, points, weights in super().places(mean)]


class HalfExcess(Point):
    """Broken: the slope grows too slowly."""

    @property
    def slope(self):
        return over(self.excess) ** 0.5 / self.noise


class RootSlopes(NaiveSafe):
    point = HalfExcess


class Uncounted(NaiveSafe):
    """Broken: mixed rounds do not count for the gap that they are played in."""

    def learn(self, mean, point, outcome):
        point.visits += 1
        point.bias += point.z - outcome
        self.count(self.gap(mean), 1.0)


class Hasty(NaiveSafe):
    """Broken: gaps are cut too early."""

    def patience(self):
        return super().patience() / 1000


class Bold(Point):
    """Broken: called neutral long after chance is no explanation."""

    @property
    def leaning(self):
        return super().leaning if self.excess > 2 or self.z in (0.0, 1.0) else 0


class BoldStage(NaiveSafe):
    point = Bold
