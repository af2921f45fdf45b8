"""What docs/numbers-proof.md proves, asserted in every round of played games, with tight walls.

The games have opponents who see the quantiles and the biases before they answer, outcomes that
come late in any order, and walls of one standard deviation or so, which are hit all the time.
Broken nets must fail the same assertions: a test that cannot fail shows nothing.
"""

import math

import numpy as np
import pytest

from benchmarks.number_opponents import bound, opponents, play
from calibrant import NumberRecalibrator
from calibrant._kernels.numbers.net import Net
from calibrant._kernels.numbers.quantile_mixture import Levels
from calibrant.recalibrate.numbers import LEVELS as NUMBER_LEVELS
from naive.numbers import NaiveNet

LEVELS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95])
HORIZONS = (16.0, 64.0, 512.0)
#: The range of the schedule's prefix sums: 2.4 at most for multiples of 1/100 (Lemma 2).
P = 2.4


class Compiled:
    """The compiled net, as the naive one is played."""

    def __init__(self, levels, horizons, wall):
        self.net = Net(Levels(levels), horizons, (wall, wall), False)
        self.horizons, self.tau, self.wall = horizons, levels, wall

    def say(self, mixture, n, late):
        return self.net.say(mixture, 10.0, n, late)

    def learn(self, c, is_marked, n, late):
        self.net.count(c, is_marked, n, late)

    def biases(self):
        return self.net.biases()

    @property
    def most(self):
        return self.net.most


class Naive(Compiled):
    """The slow one; the broken ones below derive from it."""

    def __init__(self, levels, horizons, wall):
        self.net = NaiveNet(levels, horizons, (wall, wall), grow=False)
        self.horizons, self.tau, self.wall = horizons, levels, wall

    def say(self, mixture, n, late):
        return self.net.say(mixture, 10.0, n, late)

    def learn(self, c, is_marked, n, late):
        self.net.learn(c, is_marked, n, late, late > 0 or self.net.most > 0)

    def biases(self):
        return np.array([*self.net.S, self.net.plain])


class Undiscounted(Naive):
    """Broken: marked rounds do not discount."""

    def learn(self, c, is_marked, n, late):
        if not is_marked:
            super().learn(c, is_marked, n, late)


class RandomPlaces(Naive):
    """Broken: marked rounds are placed at random, and not by the schedule."""

    def __init__(self, *given):
        super().__init__(*given)
        random = np.random.default_rng(5)
        self.net.u = lambda turn: random.random()  # noqa: ARG005


class OneLevelOnly(Naive):
    """Broken: only the level that is too low is put at infinity, and not those above it."""

    def say(self, mixture, n, late):
        predicted, turn = super().say(mixture, n, late)
        low, high = self.net.walls(n)
        if low and not high:
            predicted = np.where(np.isin(np.arange(len(predicted)), list(low)), math.inf, mixture)
        return predicted, turn


class FallingWall(Naive):
    """Broken: the wall comes down when fewer wait."""

    def learn(self, c, is_marked, n, late):
        super().learn(c, is_marked, n, late)
        self.net.most = late


def outcomes_of(predicted, tau):
    """Return what each place that an outcome may have adds to the biases, bin by bin."""
    places = []
    for at in range(len(tau) + 1):
        if (at == 0 or predicted[at - 1] < math.inf) and (
            at == len(tau) or predicted[at] > -math.inf
        ):
            below = np.arange(len(tau)) >= at
            places.append(np.where(np.isinf(predicted), predicted > 0, below) - tau)
    return places or [(predicted > 0) - tau]


def answer(kind, places, biases, tau, t, random):
    """Return the place that an opponent of this kind chooses."""
    if kind == "random":
        return places[random.integers(len(places))]
    if kind == "greedy":
        pull = (biases / np.sqrt(tau * (1 - tau) + 0.5)).sum(axis=0)
        return max(places, key=lambda c: c @ pull)
    if kind == "turning":
        level = 3
        return max(places, key=lambda c: c[level] * (1 if t // 500 % 2 else -1))
    row = biases[random.integers(len(biases))]
    return max(places, key=lambda c: c @ np.sign(row))


def game(net, kind, rounds, most, seed, wall=None):
    """Play a game; return by how much Lemma 1, Theorem 1 and the order of quantiles were missed.

    Numbers above zero are violations. At most `most` predictions wait, the newest included.
    """
    random = np.random.default_rng(seed)
    tau = net.tau
    h = np.array([*net.horizons, math.inf])[:, None]
    v, Z = tau * (1 - tau), net.wall if wall is None else wall
    S, waiting, n = np.zeros((len(h), len(tau))), [], 0
    lemma = theorem = crossing = -math.inf
    marked = 0
    for t in range(rounds):
        mixture = np.sort(random.normal(size=len(tau)))
        predicted, turn = net.say(mixture, n, most - 1.0)
        crossing = max(
            crossing,
            -np.diff(np.where(np.isinf(predicted), np.sign(predicted) * 99, predicted)).min(),
        )
        marked += turn >= 0
        c = answer(kind, outcomes_of(predicted, tau), net.biases(), tau, t, random)
        waiting.append((c, turn >= 0))
        while len(waiting) >= most or (waiting and random.random() < 0.3):
            c, is_marked = waiting.pop(0 if waiting[0][1] else random.integers(len(waiting)))
            n += 1
            net.learn(c, is_marked, n, most - 1.0)
            S = S - np.where(np.isinf(h), 0.0, S / h) + c
            W = Z * np.sqrt(v * np.minimum(h, n + 1) / 2 + 0.5) * math.sqrt(most)
            lemma = max(lemma, (np.abs(net.biases()) - W).max() - most)
            theorem = max(theorem, (np.abs(S) - W).max() - most - P - 2 * (most - 1))
    return {"lemma": lemma, "theorem": theorem, "crossing": crossing, "marked": marked}


KINDS = ("random", "greedy", "turning", "signs")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 5, 30])
def test_theorem_1_and_lemma_1(kind, most):
    marked = 0
    for seed, wall in enumerate((0.5, 1.0, 2.0)):
        found = game(Compiled(LEVELS, HORIZONS, wall), kind, 1200, most, [seed, most])
        assert found["lemma"] <= 1e-9
        assert found["theorem"] <= 1e-9
        assert found["crossing"] <= 0.0
        marked += found["marked"]
    if kind != "random":
        assert marked > 100  # the walls were hit on both sides


@pytest.mark.parametrize("seed", range(3))
def test_the_naive_net_plays_the_same_games(seed):
    nets = [each(LEVELS, HORIZONS, 1.0) for each in (Compiled, Naive)]
    found = [game(net, "greedy", 600, 5, seed) for net in nets]
    assert found[0] == pytest.approx(found[1])


def test_without_a_net_the_bound_is_broken():
    """The soft stage alone, whose end is far out and not infinite."""
    found = game(Compiled(LEVELS, HORIZONS, 1e9), "greedy", 1200, 1, 7, wall=1.0)
    assert found["lemma"] > 0.0
    assert found["theorem"] > 0.0


def test_random_places_break_the_theorem():
    """The bias of marked rounds is then a random walk."""
    assert game(Naive(LEVELS, HORIZONS, 0.5), "greedy", 1500, 1, 7)["theorem"] <= 1e-9
    assert game(RandomPlaces(LEVELS, HORIZONS, 0.5), "greedy", 1500, 1, 7)["theorem"] > 0.0


def test_one_level_only_makes_quantiles_cross():
    assert game(Compiled(LEVELS, HORIZONS, 1.0), "turning", 600, 1, 7)["crossing"] <= 0.0
    assert game(OneLevelOnly(LEVELS, HORIZONS, 1.0), "turning", 600, 1, 7)["crossing"] > 0.0


def test_marked_rounds_that_do_not_discount_break_the_sum_that_is_kept():
    """S' is then not the discounted sum of what is not marked: Theorem 1 adds the two up."""
    random = np.random.default_rng(1)
    right, broken = Naive(LEVELS, HORIZONS, 0.5), Undiscounted(LEVELS, HORIZONS, 0.5)
    for n in range(1, 200):
        c, is_marked = (random.random(len(LEVELS)) < 0.5) - LEVELS, n % 2 == 0
        for net in (right, broken):
            net.learn(c, is_marked, n, 0.0)
    unmarked = np.zeros(len(LEVELS))
    random = np.random.default_rng(1)
    for n in range(1, 200):
        c = (random.random(len(LEVELS)) < 0.5) - LEVELS
        unmarked = unmarked - unmarked / HORIZONS[0] + (c if n % 2 else 0.0)
    assert np.allclose(right.biases()[0], unmarked)
    assert not np.allclose(broken.biases()[0], unmarked, atol=0.1)


def test_a_wall_that_falls_breaks_lemma_1():
    """A bias that was within the wall is beyond it when the wall comes down by itself."""
    found = {}
    for make in (Naive, FallingWall):
        net, n, worst_bias = make(LEVELS, HORIZONS, 1.0), 0, -math.inf
        for late, rounds in ((29.0, 400), (0.0, 50)):
            for _ in range(rounds):
                predicted, turn = net.say(np.zeros(len(LEVELS)), n, late)
                places = outcomes_of(predicted, LEVELS)
                c = max(places, key=lambda c: -c[3])
                n += 1
                net.learn(c, turn >= 0, n, late)
                sigma = np.sqrt(LEVELS * (1 - LEVELS) * (n + 1) / 2 + 0.5)
                W = sigma * math.sqrt(net.most + 1)
                worst_bias = max(worst_bias, (np.abs(net.biases()[-1]) - W).max() - 1)
        found[make] = worst_bias
    assert found[Naive] <= 1e-9
    assert found[FallingWall] > 0.0


def test_lemma_2_the_schedule():
    """Over all stretches, the sum of what the schedule's rounds add is at most 2.4."""
    for levels in (np.arange(1, 100) / 100, NumberRecalibrator().levels):
        net = NaiveNet(levels)
        c = np.array([(levels > net.u(turn)) - levels for turn in range(100)])
        sums = np.vstack([np.zeros(len(levels)), np.cumsum(c, axis=0)])
        assert np.abs(sums[-1]).max() < 1e-9
        assert np.ptp(sums, axis=0).max() <= P + 1e-9
    other = np.array([1 / 3, 0.618, 0.9])
    net = NaiveNet(other)
    sums = np.cumsum([(other > net.u(turn)) - other for turn in range(4096)], axis=0)
    assert np.ptp(sums, axis=0).max() < 5.4  # van der Corput; of a random walk, about 50


def test_lemma_3_shorter_sums_follow_from_longer_ones():
    """At a running minimum of the plain sum, no shorter sum is positive."""
    random = np.random.default_rng(4)
    for _ in range(20):
        net, lowest = Naive(LEVELS, HORIZONS, 1e9), 0.0
        for n in range(1, 200):
            net.learn((random.random(len(LEVELS)) < random.random()) - LEVELS, False, n, 0.0)
            rows = net.biases()
            if rows[-1, 3] <= lowest:
                lowest = rows[-1, 3]
                assert (rows[:-1, 3] <= 1e-9).all()


def test_corollary_1_every_window():
    """Of every window of 46 rounds or more, by the sums of a horizon: (2 + L / h) max |S_h|."""
    net, kept, sums = Compiled(LEVELS, HORIZONS, 1.0), [], []
    random, S = np.random.default_rng(6), np.zeros((len(HORIZONS), len(LEVELS)))
    h = np.array(HORIZONS)[:, None]
    for t in range(3000):
        predicted, turn = net.say(np.sort(random.normal(size=len(LEVELS))), t, 0.0)
        c = answer("greedy", outcomes_of(predicted, LEVELS), net.biases(), LEVELS, t, random)
        net.learn(c, turn >= 0, t + 1, 0.0)
        S = S - S / h + c
        kept.append(c)
        sums.append(np.abs(S))
    totals = np.vstack([np.zeros(len(LEVELS)), np.cumsum(kept, axis=0)])
    largest = np.max(sums, axis=0)
    for length in (46, 100, 400, 1000, 2500):
        window = np.abs(totals[length:] - totals[:-length]).max(axis=0)
        bounds = (2 + length / h) * largest
        assert (window <= bounds.min(axis=0) + 1e-9).all()
        proved = 3.22 * 1.0 * np.sqrt(LEVELS * (1 - LEVELS) * length / 2)
        assert (window <= proved + 7.7 * (0.71 + 1 + P)).all()


def attack(kind, rounds, level=0.5):
    """Play an opponent who knows the state against the whole rule; return the largest error.

    As in the games of the proof, the first 20 outcomes are noise, and outcomes stay below 1e200.
    """
    recalibrator = NumberRecalibrator(periods=())
    tau = recalibrator.levels
    at = int(np.argmin(np.abs(tau - level)))
    random, total, counted = np.random.default_rng(8), np.zeros(len(tau)), 0
    for t in range(rounds):
        q = recalibrator.predict(0.0).quantiles
        if t < 20:
            y = random.normal()
        else:
            up = {"above": True, "below": False, "turning": t // 1000 % 2 == 0}[kind]
            edge = q[at]
            if np.isinf(edge):
                y = -1e9 if edge > 0 else 1e9
            else:
                y = edge + (1.0 if up else -1.0) * (1e-6 + 1e-9 * abs(edge))
            y = float(np.clip(y, -1e200, 1e200))
        if t >= 3:
            counted += 1
            c = np.where(y == q, 0.0, (y < q) - tau)
            total += np.where(np.isinf(q), (q > 0) - tau, c)
        recalibrator.update(y)
    return np.abs(total) / counted


@pytest.mark.parametrize("kind", ["above", "below", "turning"])
def test_every_level_keeps_the_bound_against_opponents_who_know_the_state(kind):
    rounds = 4000
    tau = NumberRecalibrator().levels
    bound = 10 * np.sqrt(tau * (1 - tau) / (2 * rounds) + 1 / (2 * rounds**2)) + 3.4 / rounds
    assert (attack(kind, rounds) <= bound).all()


@pytest.mark.parametrize("name", list(opponents(1500)))
def test_opponents_who_know_the_state_stay_within_the_bound(name):
    """The eleven kinds of `python -m benchmarks numbers attacks`, in short games."""
    tau = np.array(NUMBER_LEVELS)
    off, infinite = play(opponents(1500)[name], 1500, tau)
    assert (np.abs(off) <= bound(tau, 1500)).all()
    assert np.abs(off).max() > 0.02  # it does harm: chance alone leaves 0.013
    assert infinite > 0


def test_without_the_net_an_opponent_wins():
    """The same game with a wall that nothing reaches: the bound must fail."""
    tau = np.array(NUMBER_LEVELS)
    off, _ = play(opponents(6000)["just above 0.5"], 6000, tau, wall=(1e9, 1e9))
    assert (np.abs(off) > bound(tau, 6000)).any()
