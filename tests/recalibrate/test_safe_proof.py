"""The lemmas of docs/safe-proof.md as numbers: on random states and on those opponents reach.

Each check also fails for a stage that is broken where its lemma looks.
"""

import math

import numpy as np
import pytest

from benchmarks.attack_safe import POLICIES, Game
from calibrant._kernels.scores.safe import SafeKernel
from calibrant.measures import cal2, klcal
from naive.safe import NaiveSafe, NaiveSafeBefore, TwinStage
from recalibrate import safe_states
from recalibrate.safe_states import (
    OUTCOMES,
    ROUNDING,
    BoldStage,
    Hasty,
    OwnSlopes,
    RootSlopes,
    Uncounted,
    change,
    cost,
    excess,
    f,
    k,
    look,
    over,
    r,
    random_points,
    rho,
    slope,
    steepness,
    watch,
)

every_policy = pytest.mark.parametrize("policy", POLICIES)


@pytest.fixture(params=[1.5, 1.25], ids=["of scores", "of events"])
def lenient(request, monkeypatch):
    """How fast k grows: as behind a recalibrator's mixture, and as behind an event forecaster's."""
    monkeypatch.setattr(safe_states, "LENIENT", request.param)
    return request.param


of_both = pytest.mark.usefixtures("lenient")


# -- a visit: Lemmas 1 and 2, Proposition 1 ------------------------------------------------------


def bound_of_a_visit(z, v, n, S, y, a):
    N = n * v + 1
    noise = steepness(v, n, S) * v
    return np.sign(S) * a * (z - y) + (noise - v * cost(z, v, n, S)) / (N + v)


@of_both
@pytest.mark.parametrize("seed", range(5))
def test_lemma_1_bounds_a_visit(seed):
    z, v, n, S = random_points(40_000, seed)
    a = slope(v, n, S)
    neutral = excess(v, n, S) <= 0
    assert neutral.any()
    assert (~neutral).any()
    sizes = 1 + cost(z, v, n, S)
    for y in OUTCOMES:
        assert cost(z, v, n + 1, S + z - y)[neutral].max() == 0
        rise = change(z, v, n, S, y)
        assert ((rise - bound_of_a_visit(z, v, n, S, y, a)) / sizes).max() <= ROUNDING
    # How much the two outcomes differ is the slope, exactly; that of the rule before is not.
    differ = cost(z, v, n + 1, S + z) - cost(z, v, n + 1, S + z - 1)
    assert (np.abs(differ - np.sign(S) * a) / sizes).max() <= ROUNDING
    wrong = 2 * over(excess(v, n, S)) / ((n + 1) * v + 1)
    assert (np.abs(differ - np.sign(S) * wrong) / sizes).max() > 0.1


def test_the_inequality_of_one_variable_in_lemma_2():
    e = np.linspace(1e-6, 6, 600_001)
    short = (f(e) - f(e - 1)) ** 2 - 8 * (1.5 + np.log1p(e)) * f(e - 1) - 2
    assert short.max() == pytest.approx(-0.103, abs=0.001)
    assert e[short.argmax()] == pytest.approx(1.54, abs=0.01)


@of_both
@pytest.mark.parametrize("seed", range(5))
def test_lemma_2_bounds_the_fall(seed):
    z, v, n, S = random_points(40_000, seed)
    N, a = n * v + 1, slope(v, n, S)
    fall, rest = -v * cost(z, v, n, S) / (N + v), (1 / N - 1 / (N + v)) / 4
    share = v * a**2 / steepness(v, n, S)
    sizes = 1 + share
    assert ((fall - (rest - share / 8)) / sizes).max() <= ROUNDING
    # Four times the fall would be too much to ask.
    assert ((fall - (rest - share / 2)) / sizes).max() > 0.001


@of_both
@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_turns_costs_into_errors(seed):
    z, v, n, S = (column[:20_000] for column in random_points(40_000, seed))
    z, v, n, S = (column[n >= 1] for column in (z, v, n, S))
    N, F = n * v + 1, cost(z, v, n, S)
    allowed = (1 + np.sqrt(k(N))) ** 2
    assert (S**2 / n <= 0.75 * F + 0.75 * allowed + 3).all()
    assert (S**2 / n <= 0.75 * F + 0.75 * allowed + 0.1)[n >= 8].all()
    assert (S**2 / n > 0.75 * F + 0.1 * k(N) + 1).any(), "less than the threshold would not do"
    q = np.clip(z - S / n, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(q > 0, q * np.log(q / z), 0)
        zeros = np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - z)), 0)
    most = np.maximum(1, -np.log(np.minimum(z, 1 - z)))
    assert (n * (ones + zeros) <= (4 * F + 4 * allowed + 4.3) * most).all()


# -- a round: Lemmas 3 to 5 ----------------------------------------------------------------------


def check_mixed_round(points, share, w):
    """Lemma 3, for the state of two ends and the share of the lower."""
    weights = np.array([share, 1 - share])
    z, v, n, S = (np.array(column) for column in zip(*points, strict=True))
    rises = [float(weights @ change(z, v, n, S, y)) for y in OUTCOMES]
    size = 1 + float(cost(z, v, n, S).sum())
    assert rises[0] == pytest.approx(rises[-1], abs=ROUNDING * size)
    rise = max(rises) - float(weights @ rho(v, n, S))
    most = 9 / 8 * steepness(v, n, S).max() * w * w
    assert rise <= most + ROUNDING * size
    return rise / most


def check_end_round(z, v, n, S, w):
    """Lemma 4."""
    for y in OUTCOMES:
        most = 0.51 * steepness(v, n, S) * w * w
        assert change(z, v, n, S, y) - rho(v, n, S) <= most + ROUNDING


def check_round(played):
    """Lemmas 1 and 3 to 5: where a round is played, and what it does to the costs."""
    before, (lo, hi, share), point, outcome, after = played
    gap = played.gap
    ends = [before.point(end) for end in (lo, hi)]
    if lo < hi:
        assert ends[1][4] == ends[0][4] + 1
        assert ends[0][3] < 0 < ends[1][3]
        assert all(excess(*end[1:4]) > 0 for end in ends)
        w = before.theta[gap + 1] - before.theta[gap]
        check_mixed_round([end[:4] for end in ends], share, w)
    elif gap is not None:
        assert gap in (0, before.gaps - 1), "a biased point by itself stands beside a sentinel"
        check_end_round(*ends[0][:4], before.theta[gap + 1] - before.theta[gap])
    else:
        assert after.costs <= before.costs + ROUNDING, "a visit to a neutral point costs nothing"
    # A cut costs nothing: all that changed is the cost of the point predicted.
    z, v, n, S, _ = before.point(point)
    expected = before.costs + change(z, v, n, S, outcome)
    assert after.costs == pytest.approx(expected, abs=1e-7 * (1 + before.costs))


def check_dyadic(seen):
    """Gaps are [jw, (j + 1) w], w = pi / 2^l, l >= 5."""
    w = np.diff(seen.theta)
    for ratio in (seen.theta[1:] / w, math.pi / w):
        assert ratio == pytest.approx(np.round(ratio), rel=1e-9)
    levels = np.log2(math.pi / w)
    assert levels == pytest.approx(np.round(levels), abs=1e-6)
    assert levels.min() > 4.9


@every_policy
def test_lemmas_3_to_5_in_every_round(policy, lenient):
    stage = SafeKernel(lenient)
    watch(stage, POLICIES[policy], 1500, check_round)
    check_dyadic(look(stage))


@pytest.mark.parametrize("rule", [OwnSlopes, RootSlopes, BoldStage, NaiveSafeBefore])
def test_lemmas_3_to_5_fail_for_a_broken_rule(rule):
    policy = POLICIES["random means, greedy"]
    watch(TwinStage(NaiveSafe()), policy, 400, check_round)
    with pytest.raises(AssertionError):
        watch(TwinStage(rule()), policy, 2500, check_round)


@of_both
@pytest.mark.parametrize("seed", range(3))
def test_lemmas_3_and_4_on_random_states(seed):
    random = np.random.default_rng(seed)
    share = 0.0
    for _ in range(4000):
        level = int(random.integers(5, 13))
        first = int(random.integers(1, 2**level - 1)) if random.random() < 0.5 else 1
        theta = np.array([first, first + 1]) * math.pi / 2**level
        w = theta[1] - theta[0]
        z = np.sin(theta / 2) ** 2
        v = z * (1 - z)
        n = np.floor(np.exp(random.uniform(1, 14, 2)))
        S = r((n + 1) * v + 1) + np.exp(random.uniform(-3, 6, 2))
        S = S * np.array([-1, 1])
        a = slope(v, n, S)
        points = list(zip(z, v, n, S, strict=True))
        share = max(share, check_mixed_round(points, a[1] / a.sum(), w))
        if first == 1:
            check_end_round(z[0], v[0], n[0], -S[0], w)
    # The bound is not idle: some state comes within a factor of thirty.
    assert share > 1 / 30


# -- a run: Lemma 6 and the theorem --------------------------------------------------------------


class Count:
    """Adds up what the theorem's right side consists of, from the rounds of a game."""

    def __init__(self):
        self.squares, self.mixed, self.biased = {}, 0, set()  # squares by gap
        self.steepest = 1.5

    def __call__(self, played):
        gap = played.gap
        if gap is not None:
            left, right = played.before.theta[gap], played.before.theta[gap + 1]
            self.squares[left, right] = self.squares.get((left, right), 0.0) + (right - left) ** 2
            self.mixed += 1
            self.biased.add(played.point)
            for end in played.placed[:2]:
                steep = steepness(*played.before.point(end)[1:4])
                self.steepest = max(self.steepest, float(steep))

    def check_lemma_6(self, seen, rounds):
        most = 1 + 2 * math.log(max(1.0, seen.gaps / 64))
        for (left, right), squares in self.squares.items():
            assert squares <= most + (right - left) ** 2 + ROUNDING
        assert sum(self.squares.values()) <= (2 * seen.gaps - 32) * most + 0.62
        assert seen.gaps**3 <= 96 * math.pi**2 * rounds + 32**3
        assert seen.gaps <= max(128, 31.5 * rounds**0.2, 19.7 * self.mixed ** (1 / 3))

    def check_theorem(self, seen, predictions, outcomes):
        """(S1) is about expectations; its right side is so far above that luck does not matter."""
        was_biased = np.isin(seen.z, list(self.biased))
        noise = float(np.log1p(seen.n * seen.v)[was_biased].sum())
        bound = self.steepest * (noise + 9 / 8 * sum(self.squares.values()))
        bound += 0.25 * was_biased.sum()
        assert seen.costs <= bound + ROUNDING
        visited = seen.n > 0
        N = (seen.n * seen.v + 1)[visited]
        allowed = (1 + np.sqrt(k(N))) ** 2
        few = np.where(seen.n[visited] < 8, 3, 0.1)
        rest = float((0.75 * allowed + few).sum())
        assert cal2(predictions, outcomes) <= 0.75 * seen.costs + rest
        most = math.log(316 * len(outcomes))
        assert klcal(predictions, outcomes) <= most * float(
            4 * seen.costs + (4 * allowed + 4.3).sum()
        )


def counted(stage, policy, rounds, seed=1):
    count = Count()
    predictions, outcomes = watch(stage, policy, rounds, count, seed)
    return count, look(stage), predictions, outcomes


@every_policy
def test_lemma_6_and_the_theorem(policy, lenient):
    for seed, rounds in enumerate((300, 6000)):
        stage = SafeKernel(lenient)
        count, seen, predictions, outcomes = counted(stage, POLICIES[policy], rounds, seed)
        count.check_lemma_6(seen, rounds)
        count.check_theorem(seen, predictions, outcomes)
        assert seen.n.sum() == rounds


def test_lemma_6_fails_if_mixed_rounds_do_not_count():
    policy = POLICIES["beside the mark"]
    count, seen, *_ = counted(TwinStage(NaiveSafe()), policy, 6000)
    count.check_lemma_6(seen, 6000)
    count, seen, *_ = counted(TwinStage(Uncounted()), policy, 6000)
    with pytest.raises(AssertionError):
        count.check_lemma_6(seen, 6000)


def test_lemma_6_fails_if_cuts_come_too_early():
    count, seen, *_ = counted(TwinStage(Hasty()), POLICIES["random means, greedy"], 1500)
    with pytest.raises(AssertionError):
        count.check_lemma_6(seen, 1500)


def test_the_theorem_fails_for_a_broken_rule():
    policy = POLICIES["random means, greedy"]
    for rule, holds in ((NaiveSafe, True), (OwnSlopes, False)):
        count, seen, predictions, outcomes = counted(TwinStage(rule()), policy, 4000)
        if holds:
            count.check_theorem(seen, predictions, outcomes)
        else:
            with pytest.raises(AssertionError):
                count.check_theorem(seen, predictions, outcomes)


def test_an_opponent_that_broke_the_rule_before():
    """Means that stay beside the mark kept a coarse gap coarse, and Cal2 grew like T."""
    policy, rounds = POLICIES["beside the mark"], 40_000
    errors = [
        cal2(*Game(stage, rounds, seed=1).play(policy))
        for stage in (SafeKernel(), TwinStage(NaiveSafeBefore()))
    ]
    assert errors[0] < 35
    assert errors[1] > 42


# -- the kernel and its twin ---------------------------------------------------------------------


@every_policy
def test_the_kernel_agrees_with_its_twin_for_any_means(policy, lenient):
    games = [
        (stage, *Game(stage, 1500, seed=5).play(POLICIES[policy]))
        for stage in (SafeKernel(lenient), TwinStage(NaiveSafe(lenient)))
    ]
    (kernel, *played), (twin, *played_by_twin) = games
    np.testing.assert_allclose(played, played_by_twin, rtol=0, atol=1e-12)
    for name, column in kernel.columns().items():
        np.testing.assert_allclose(column, twin.columns()[name], rtol=0, atol=1e-9)
