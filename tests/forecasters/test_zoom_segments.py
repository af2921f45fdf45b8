"""Lemmas 11 to 13 of docs/zoom-proof.md: which cuts there are, on trees and on real paths."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from calibrant.streams import Contrarian, Greedy, March, drift, piecewise, random_walk
from forecasters.zoom_states import Hasty, angle, phi
from naive.zoom import NaiveZoom

# -- Lemma 11 on trees: any order of cuts, not only Zoom's ---------------------------------------

HALVES = Fraction(1, 2), Fraction(1, 2)


def induced(gaps, i):
    """Whether a neighbour of gap i is at most a quarter as wide; gaps are their widths."""
    return any(4 * gaps[j] <= gaps[i] for j in (i - 1, i + 1) if 0 <= j < len(gaps))


def cut(gaps, i, shares=HALVES):
    return (*gaps[:i], *(gaps[i] * share for share in shares), *gaps[i + 1 :])


def most_induced(cuts):
    """Return the most induced cuts for an ordinary one, over all orders of so many cuts."""
    reached, worst = {HALVES: 0}, Fraction(0)
    for number in range(1, cuts + 1):
        following = {}
        for gaps, count in reached.items():
            for i in range(len(gaps)):
                new, more = cut(gaps, i), count + induced(gaps, i)
                following[new] = max(more, following.get(new, 0))
                worst = max(worst, Fraction(more, number - more))
        reached = following
    return worst


def test_lemma_11_for_every_order_of_eight_cuts():
    assert Fraction(1, 2) <= most_induced(8) <= 6


def play_greedily(shares, seed, cuts=100):
    """Cut what is induced wherever something is; return ordinary and induced cuts."""
    random, gaps, count = np.random.default_rng(seed), HALVES, [0, 0]
    for _ in range(cuts):
        choices = [i for i in range(len(gaps)) if induced(gaps, i)]
        i = int(random.choice(choices or np.arange(len(gaps))))
        count[bool(choices)] += 1
        gaps = cut(gaps, i, shares)
    return count


def test_lemma_11_for_greedy_orders():
    for seed in range(10):
        ordinary, others = play_greedily(HALVES, seed)
        assert others <= 6 * ordinary


def test_lemma_11_fails_if_gaps_are_not_halved():
    ordinary, others = play_greedily((Fraction(1, 5), Fraction(4, 5)), seed=1)
    assert others > 6 * ordinary


# -- on paths ------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """A cut as the lemmas speak of it."""

    time: int
    width: float
    threshold: float
    is_induced: bool
    ends: list[tuple[float, int]]  # angle and visits of those that are no sentinels


class Recorded:
    """Keep every cut of a twin of Zoom, and what its points had at the ends of segments."""

    def __init__(self, twin, ends=()):
        self.twin, self.ends = twin, set(ends)
        self.cuts, self.visits, self.snapshots = [], [], [{}]

    def update(self, outcome):
        twin = self.twin
        before, (low, high) = list(twin.points), twin.crossing()
        widths = np.diff([point.theta for point in before])
        threshold = twin.threshold()
        played = before[twin.played if twin.played is not None else self.index()]
        twin.update(outcome)
        self.visits.append(played.theta)
        if len(twin.points) > len(before):
            beside = [widths[j] for j in (low - 1, low + 1) if 0 <= j < len(widths)]
            self.cuts.append(
                Cut(
                    len(self.visits), widths[low], threshold,
                    min(beside) <= widths[low] / 4 * (1 + 1e-9),
                    [(p.theta, p.visits) for p in before[low : high + 1] if p.variance > 0],
                )
            )  # fmt: skip
        if len(self.visits) in self.ends:
            self.snapshots.append({p.theta: cost(p) for p in twin.points if p.variance > 0})

    def index(self):
        self.twin.predict()
        return self.twin.played


def cost(point):
    return phi(point.z, point.variance, point.visits, point.imagined_bias)


def play_stream(twin, outcomes, ends=()):
    recorded = Recorded(twin, ends)
    for outcome in outcomes:
        recorded.update(outcome)
    return recorded


def check_lemma_11(cuts):
    kinds = [each.is_induced for each in cuts]
    assert sum(kinds) <= 6 * (len(kinds) - sum(kinds))


def check_lemma_12(cuts):
    for each in cuts:
        if not each.is_induced:
            for _, visits in each.ends:
                assert visits <= 37 * each.threshold / each.width**2


def check_no_point_would_retire(twin):
    """The variant that is linear in K would have played the same."""
    for p in twin.points[1:-1]:
        assert cost(p) <= 64 * (1 + math.log(p.visits * p.variance + 1))


T = 6000
PATHS = {
    "piecewise": lambda seed: piecewise(T, segments=20, seed=seed).outcomes,
    "staircase": lambda seed: piecewise(T, levels=np.linspace(0.02, 0.98, 25), seed=seed).outcomes,
    "drift": lambda seed: drift(T, seed=seed).outcomes,
    "random walk": lambda seed: random_walk(T, seed=seed).outcomes,
}


@pytest.mark.parametrize("name", PATHS)
def test_lemmas_11_and_12_on_streams(name):
    for seed in range(2):
        recorded = play_stream(NaiveZoom(seed=seed), PATHS[name](seed).tolist())
        check_lemma_11(recorded.cuts)
        check_lemma_12(recorded.cuts)
        check_no_point_would_retire(recorded.twin)


@pytest.mark.parametrize("opponent", [Contrarian(), Greedy("l2"), March(3000)], ids=repr)
def test_lemmas_11_and_12_against_opponents(opponent):
    recorded = Recorded(NaiveZoom(seed=1))
    twin = recorded.twin
    for _ in range(3000):
        indices, weights = twin.distribution()
        points = np.array([twin.points[i].z for i in indices])
        outcome, prediction = opponent.answer(points, np.array(weights)), twin.predict()
        opponent.observe(prediction, outcome)
        recorded.update(outcome)
    check_lemma_11(recorded.cuts)
    check_lemma_12(recorded.cuts)
    check_no_point_would_retire(recorded.twin)


class Patient(NaiveZoom):
    """Cuts as if thresholds were thirty times as high."""

    def cut_if_earned(self, low, width):
        if self.points[low].rounds_in_gap * (width * width) > 30 * self.threshold():
            super().cut_if_earned(low, width)


def test_lemma_12_fails_where_gaps_are_played_for_longer():
    recorded = play_stream(Patient(seed=1), PATHS["staircase"](1).tolist())
    with pytest.raises(AssertionError):
        check_lemma_12(recorded.cuts)


# -- Lemma 13: visits in a segment, by the distance from its truth -------------------------------


def check_lemma_13(recorded, levels, ends, most=math.inf):
    """Return how close it came for any ordinary cut, end and segment: 1 is the bound.

    Both what the lemma says of visits and, far tighter, what its proof says of the bias gained.
    """
    iota = 3 * math.log(len(recorded.visits)) + 5
    visits, starts = np.array(recorded.visits), [0, *ends]
    closest = 0.0
    for each in recorded.cuts:
        if each.is_induced:
            continue
        n_max = 37 * each.threshold / each.width**2
        for theta, _ in each.ends:
            for s, level in enumerate(levels):
                if starts[s] >= each.time:
                    break
                is_here = visits[starts[s] : starts[s + 1]] == theta
                n, m = is_here[: each.time - starts[s]].sum(), is_here.sum()
                distance, z = abs(theta - angle(level)), math.sin(theta / 2) ** 2
                V = max(z * (1 - z), level * (1 - level))
                h = min(most, max(recorded.snapshots[k].get(theta, 0.0) for k in (s, s + 1)))
                A, E = 2 * h**0.5 + 3 * iota**0.5, 2 * h**0.5 + 1 + 3.5 * iota
                bound = 9 * A * n_max**0.5 * distance + 20 * E
                gained = m * abs(z - level) / (A * math.sqrt((n_max + m) * V) + E)
                closest = max(closest, n * distance**2 / bound, gained)
    return closest


def segments(K, seed):
    """Return levels far apart in turn, and where their segments of equal length end."""
    levels = np.random.default_rng(seed).permutation(np.linspace(0.05, 0.95, K))
    return levels, [T * (s + 1) // K for s in range(K)]


@pytest.mark.parametrize("K", [2, 5, 20])
def test_lemma_13_in_every_segment(K):
    levels, ends = segments(K, seed=K)
    means = np.repeat(levels, np.diff([0, *ends]))
    outcomes = (np.random.default_rng(K).random(T) < means).astype(float)
    recorded = play_stream(NaiveZoom(seed=K), outcomes.tolist(), ends)
    assert check_lemma_13(recorded, levels, ends) <= 1


class Stubborn(NaiveZoom):
    """Predicts its lowest point, whatever comes: bias is carried over and not paid off."""

    def crossing(self):
        return 1, 2

    def distribution(self):
        return [1], [1.0]


def test_lemma_13_fails_for_a_rule_that_ignores_its_bias():
    levels, ends = np.array([0.05, 0.95]), [T // 6, 3 * T]
    means = np.repeat(levels, np.diff([0, *ends]))
    outcomes = (np.random.default_rng(1).random(len(means)) < means).astype(float)
    recorded = play_stream(Stubborn(seed=1), outcomes.tolist(), ends)
    # Its costs are huge, which would excuse the visits; Zoom's would not.
    assert check_lemma_13(recorded, levels, ends, most=10.0) > 1


def test_cuts_that_come_too_early_are_not_fewer():
    """Lemma 11 is about any order of cuts: a hasty Zoom obeys it too."""
    recorded = play_stream(Hasty(seed=1), np.linspace(0, 1, 2000).tolist())
    assert len(recorded.cuts) > 50
    check_lemma_11(recorded.cuts)
