"""States of Zoom as the proof speaks of them, opponents that reach them, and broken rules."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from calibrant import Zoom
from calibrant.streams import (
    Chaser,
    Contrarian,
    Greedy,
    March,
)
from naive.zoom import NaiveZoom

ROUNDING = 1e-9
GRANT = 0.5
OUTCOMES = (0.0, 1.0, 0.37)


class Snapshot(NamedTuple):
    """A Zoom's state between two rounds, sentinels included, and where it will play."""

    theta: np.ndarray
    z: np.ndarray
    v: np.ndarray
    n: np.ndarray
    S: np.ndarray
    R: np.ndarray
    g: np.ndarray
    purse: float
    support: list[float]
    weights: list[float]

    @property
    def Phi(self):  # noqa: N802
        return float(phi(self.z, self.v, self.n, self.R)[1:-1].sum())

    @property
    def cuts(self):
        return len(self.z) - 3

    @property
    def gap(self):
        """The neighbours that bisection by the sign of R ends at."""
        lo, hi = 0, len(self.z) - 1
        while hi - lo > 1:
            middle = (lo + hi) // 2
            lo, hi = (middle, hi) if self.R[middle] <= 0 else (lo, middle)
        return lo, hi

    @property
    def is_end(self):
        return self.gap[0] == 0 or self.gap[1] == len(self.z) - 1

    @property
    def is_bet(self):
        """One inner end alone carries mass; where R_lo = 0 it may do so without a bet."""
        return len(self.support) == 1 and not self.is_end and self.R[self.gap[0]] != 0


def look(forecaster):
    """Return the snapshot of a Zoom or of its twin."""
    if isinstance(forecaster, Zoom):
        state = forecaster._get_state()
        columns = [state[name] for name in ("theta", "z", "v", "n", "S", "R", "g")]
        return Snapshot(*columns, state["purse"], *map(list, forecaster.distribution()))
    names = ("theta", "z", "variance", "visits", "bias", "imagined_bias", "rounds_in_gap")
    points = forecaster.points
    columns = [np.array([getattr(p, name) for p in points], dtype=float) for name in names]
    indices, weights = forecaster.distribution()
    return Snapshot(*columns, forecaster.purse, [points[i].z for i in indices], weights)


def phi(z, v, n, R):
    return (R + 0.5 - z) ** 2 / (n * v + 1)


def change(z, v, n, R, y):
    """Return by how much a visit with outcome y changes phi."""
    return phi(z, v, n + 1, R + z - y) - phi(z, v, n, R)


def rho(v, n):
    N = n * v + 1
    return v / (N + v) + (1 / N - 1 / (N + v)) / 4


# -- opponents -----------------------------------------------------------------------------------


class Spoiler:
    """Turns every bet against the forecaster, and drifts otherwise."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.level = 0.5

    def choose(self, forecaster):
        snapshot = look(forecaster)
        if snapshot.is_bet:
            return float(snapshot.R[snapshot.z == snapshot.support[0]][0] <= 0)
        self.level = min(max(self.level + self.random.normal(0, 0.02), 0), 1)
        return float(self.random.random() < self.level)


class Uniform:
    """Fractions, whatever the forecaster does."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)

    def choose(self, _):
        return float(self.random.random())


OPPONENTS = {
    "march": lambda: March(1000),
    "fine march": lambda: March(30_000),
    "greedy l1": lambda: Greedy("l1"),
    "greedy l2": lambda: Greedy("l2"),
    "contrarian": Contrarian,
    "chaser": lambda: Chaser(0.01),
    "spoiler": Spoiler,
    "fractions": Uniform,
}
every_opponent = pytest.mark.parametrize("opponent", OPPONENTS)


def rounds_of(forecaster, opponent, rounds):
    """Play, and yield the snapshots before and after every round, with its outcome."""
    before = look(forecaster)
    for _ in range(rounds):
        y = opponent.choose(forecaster)
        if hasattr(opponent, "observe"):
            opponent.observe(forecaster.predict(), y)
        forecaster.update(y)
        after = look(forecaster)
        yield before, y, after
        before = after


# -- broken rules --------------------------------------------------------------------------------


class CostsAsWeights(NaiveZoom):
    """The weights of the rule before."""

    def share_of_left(self, left, right):
        left, right = left.imagined_bias**2 / left.spread, right.imagined_bias**2 / right.spread
        return right / (left + right)


class OwnSlopes(NaiveZoom):
    """Each end drawn with its own slope."""

    def share_of_left(self, left, right):
        return left.weight / (left.weight + right.weight)


class Spendthrift(NaiveZoom):
    """Bets as long as the purse is not empty."""

    def affordable(self, _worst):
        return self.purse > 0


class Hasty(NaiveZoom):
    """Cuts a million times too early."""

    PATIENCE = 4e-7


class Lopsided(NaiveZoom):
    """Predicts the end of the grid, which is wrong more and more often, and never retires it."""

    HOPELESS = math.inf

    def crossing(self):
        return len(self.points) - 2, len(self.points) - 1


def random_points(count, seed):
    """Return z, v, n, S, b and R of points of all kinds: light, heavy, close to 0, far off."""
    random = np.random.default_rng(seed)
    z = np.sin(math.pi * random.random(count) * 2.0 ** -random.integers(1, 14, count)) ** 2
    z = np.where(random.random(count) < 0.5, z, 1 - z)
    n = np.floor(np.exp(random.uniform(0, 14, count))) - random.integers(0, 2, count)
    # Any S that n outcomes can leave, the extremes and those near zero among them.
    share = np.where(random.random(count) < 0.3, random.integers(0, 2, count), random.random(count))
    near = z + random.normal(size=count) * np.sqrt((z * (1 - z) + 1 / (n + 1)) / (n + 1))
    share = np.where(random.random(count) < 0.5, np.clip(near, 0, 1), share)
    S = n * (z - share)
    b = np.where(random.random(count) < 0.3, random.integers(0, 2, count), random.random(count))
    return z, z * (1 - z), n, S, b, S + z - b


def patience(gaps):
    return 0.4 * math.log2(gaps) ** 2


def angle(z):
    return 2 * np.arcsin(np.sqrt(z))
