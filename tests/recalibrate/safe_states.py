"""States of the safe stage for the tests of its proof, rules that are broken, and their games."""

import math
from typing import NamedTuple

import numpy as np

from benchmarks.attack_safe import Game
from naive.safe import NaiveSafe, Point

ROUNDING = 1e-9
OUTCOMES = (0.0, 0.25, 0.5, 1.0)
FRESH = 0.25  # N of a point without visits


def r(x):
    """The bias that is free."""
    return np.sqrt(x)


def over(x):
    return np.maximum(x, 0.0)


def f(x):
    return over(x) ** 2


def cost(z, v, n, S):
    N = n * v + FRESH
    return f(np.abs(S + 0.5 - z) - 0.5 - r(N)) / N


def excess(v, n, S):
    return np.abs(S) - r((n + 1) * v + FRESH)


def slope(v, n, S):
    e = excess(v, n, S)
    return (f(e) - f(e - 1)) / ((n + 1) * v + FRESH)


def change(z, v, n, S, y):
    """Return by how much the cost of a point changes with a visit and outcome y."""
    return cost(z, v, n + 1, S + z - y) - cost(z, v, n, S)


def rho(v, n):
    N = n * v + FRESH
    return v / (N + v) + (1 / N - 1 / (N + v)) / 4


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
    """A round: the grid before it, lo, hi and share, what was drawn, and the grid after it.

    And the purse before it, whether it was a bet, and the purse after it.
    """

    before: Seen
    placed: tuple[float, float, float]
    point: float
    outcome: float
    after: Seen
    purse: float
    bet: bool
    purse_after: float

    @property
    def income(self):
        """What the outcome adds to the purse, if the round was not mixed, and the cuts."""
        _, v, n, *_ = self.before.point(self.point)
        cuts = self.after.gaps - self.before.gaps
        earned = 0.15 * v / ((n + 1) * v + FRESH) if self.gap is None else 0.0
        return earned + cuts / 2

    @property
    def gap(self):
        """The number of the gap that a mixed or an end round is played in, or None."""
        lo, hi, _ = self.placed
        _, v, n, S, at = self.before.point(lo)
        if lo < hi:
            return at
        if self.bet or excess(v, n, S) <= 0:
            return None
        return at if S < 0 else at - 1


class Watched:
    """A stage that hands each of its rounds to a check."""

    def __init__(self, stage, check):
        self.stage, self.check = stage, check
        self.before, self.purse = look(stage), stage.purse

    def place(self, mean):
        self.placed, self.bet = self.stage.place(mean), self.stage.is_bet(mean)
        return self.placed

    def learn(self, mean, point, outcome):
        self.stage.learn(mean, point, outcome)
        after = look(self.stage)
        purse, self.purse = self.purse, self.stage.purse
        played = (self.before, self.placed, point, outcome, after, purse, self.bet, self.purse)
        self.check(Round(*played))
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
    near = r((n + 1) * v + FRESH) + random.normal(0, 1, count) * np.exp(
        random.uniform(-3, 3, count)
    )
    S = near * random.choice([-1, 1], count)
    return z, v, n, np.clip(S, -n * (1 - z), n * z)


class OwnSlopes(NaiveSafe):
    """Broken: each end is drawn with its own slope."""

    def place(self, mean):
        points, weights = super().place(mean)
        return points, weights[::-1]


class HalfExcess(Point):
    """Broken: the slope grows too slowly."""

    @property
    def slope(self):
        return over(self.excess) ** 0.5 / self.noise


class RootSlopes(NaiveSafe):
    point = HalfExcess


class Uncounted(NaiveSafe):
    """Broken: mixed rounds do not count for the gap that they are played in."""

    def learn(self, mean, point, outcome, bet, late=0):
        self.is_mixed = point.leaning != 0 and not bet
        super().learn(mean, point, outcome, bet, late)

    def count(self, at, rounds):
        if not self.is_mixed:
            super().count(at, rounds)


class Hasty(NaiveSafe):
    """Broken: gaps are cut too early."""

    def patience(self):
        return super().patience() / 1000


class Bold(Point):
    """Broken: called neutral long after visits have a cost."""

    @property
    def leaning(self):
        return super().leaning if self.excess > 2 or self.z in (0.0, 1.0) else 0


class BoldStage(NaiveSafe):
    point = Bold


class Generous(NaiveSafe):
    """Broken: bets cost half of what they add."""

    def pay(self, amount):
        super().pay(amount / 2)


class Reckless(NaiveSafe):
    """Broken: bets that the purse cannot pay are made all the same: the rule without a purse."""

    def is_bet(self, mean):
        wanted = self.nearest(mean, "lenient_leaning")
        return len(wanted) == 1 and wanted[0].excess > 0
