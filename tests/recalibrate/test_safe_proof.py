"""The lemmas of docs/safe-proof.md as numbers: on random states and on those opponents reach.

Each check also fails for a stage that is broken where its lemma looks.
"""

import math

import numpy as np
import pytest

from benchmarks.attack_safe import POLICIES, Game
from calibrant._kernels.scores.safe import SafeKernel
from calibrant.measures import cal2, klcal
from naive.draws import scramble
from naive.recalibrate import NaiveRecalibrator
from naive.safe import NaiveSafe, TwinStage
from recalibrate.safe_states import (
    FRESH,
    OUTCOMES,
    ROUNDING,
    BoldStage,
    Generous,
    Hasty,
    OwnSlopes,
    Reckless,
    RootSlopes,
    Uncounted,
    Watched,
    change,
    cost,
    excess,
    f,
    look,
    over,
    r,
    random_points,
    rho,
    slope,
    watch,
)

pytestmark = pytest.mark.long

every_policy = pytest.mark.parametrize("policy", POLICIES)
lenient = pytest.mark.parametrize("lenient", [1.5, 1.25], ids=["of scores", "of events"])


# -- a visit: Lemmas 1 and 2, Proposition 1 ------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_lemma_1_bounds_a_visit(seed):
    z, v, n, S = random_points(40_000, seed)
    a, D, F = slope(v, n, S), (n + 1) * v + FRESH, cost(z, v, n, S)
    free = excess(v, n, S) <= 0
    assert free.any()
    assert (~free).any()
    for y in OUTCOMES:
        assert cost(z, v, n + 1, S + z - y)[free].max() == 0
        most = np.sign(S) * a * (z - y) + (v - v * F) / D
        assert ((change(z, v, n, S, y) - most) / (1 + F)).max() <= ROUNDING
    # How much the two outcomes differ is the slope, exactly; a derivative is not.
    differ = cost(z, v, n + 1, S + z) - cost(z, v, n + 1, S + z - 1)
    assert (np.abs(differ - np.sign(S) * a) / (1 + F)).max() <= ROUNDING
    wrong = 2 * over(excess(v, n, S)) / D
    assert (np.abs(differ - np.sign(S) * wrong) / (1 + F)).max() > 0.1


def test_the_inequality_of_one_variable_in_lemma_2():
    e = np.linspace(1e-6, 6, 600_001)
    short = (f(e) - f(e - 1)) ** 2 - 8 * f(e - 1) - 2
    assert short.max() == pytest.approx(0.0, abs=1e-8)
    assert e[short.argmax()] == pytest.approx(1.5, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_lemma_2_bounds_the_fall(seed):
    z, v, n, S = random_points(40_000, seed)
    N, a = n * v + FRESH, slope(v, n, S)
    fall, rest = -v * cost(z, v, n, S) / (N + v), (1 / N - 1 / (N + v)) / 4
    share = v * a**2
    assert ((fall - (rest - share / 8)) / (1 + share)).max() <= ROUNDING
    # Four times the fall would be too much to ask.
    assert ((fall - (rest - share / 2)) / (1 + share)).max() > 0.001


@pytest.mark.parametrize("seed", range(5))
def test_the_noise_of_a_point_is_a_logarithm(seed):
    random = np.random.default_rng(seed)
    for v in np.exp(random.uniform(-12, math.log(0.25), 20)):
        n = np.arange(int(np.exp(random.uniform(0, 10))))
        assert rho(v, n).sum() <= math.log1p(4 * len(n) * v) + 1
        assert (v / ((n + 1) * v + FRESH)).sum() <= math.log1p(4 * len(n) * v)


@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_turns_costs_into_errors(seed):
    z, v, n, S = (column[:20_000] for column in random_points(40_000, seed))
    z, v, n, S = (column[n >= 1] for column in (z, v, n, S))
    F = cost(z, v, n, S)
    assert (S**2 / n <= np.where(n >= 8, 0.5625 * F + 1.57, 7)).all()
    assert (S**2 / n > 0.5625 * F + 0.25)[n >= 8].any(), "less than the threshold would not do"
    q = np.clip(z - S / n, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(q > 0, q * np.log(q / z), 0)
        zeros = np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - z)), 0)
    most = np.maximum(1, -np.log(np.minimum(z, 1 - z)))
    assert (n * (ones + zeros) <= (4 * F + 12.4) * most).all()


# -- a round: Lemmas 3 to 5 ----------------------------------------------------------------------


def check_mixed_round(points, share, w):
    """Lemma 3, for the state of two ends and the share of the lower."""
    weights = np.array([share, 1 - share])
    z, v, n, S = (np.array(column) for column in zip(*points, strict=True))
    rises = [float(weights @ change(z, v, n, S, y)) for y in OUTCOMES]
    size = 1 + float(cost(z, v, n, S).sum())
    assert rises[0] == pytest.approx(rises[-1], abs=ROUNDING * size)
    rise = max(rises) - float(weights @ rho(v, n))
    assert rise <= 9 / 8 * w * w + ROUNDING * size
    return rise / (9 / 8 * w * w)


def check_end_round(z, v, n, S, w):
    """Lemma 4."""
    for y in OUTCOMES:
        assert change(z, v, n, S, y) - rho(v, n) <= 0.51 * w * w + ROUNDING


def check_round(played):
    """Lemmas 1 and 3 to 5: where a round is played, and what it does to the costs and the purse."""
    before, (lo, hi, share), point, outcome, after, purse, bet, purse_after = played
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
    elif not bet:
        assert after.costs <= before.costs + ROUNDING, "a free visit costs nothing"
    # A cut costs nothing: all that changed is the cost of the point predicted.
    z, v, n, S, _ = before.point(point)
    rise = change(z, v, n, S, outcome)
    assert after.costs == pytest.approx(before.costs + rise, abs=1e-7 * (1 + before.costs))
    # A bet is paid in full, and could have been whatever the outcome.
    assert not bet or max(change(z, v, n, S, y) for y in OUTCOMES) <= purse + ROUNDING
    expected = purse + played.income - (rise if bet else 0.0)
    assert purse_after == pytest.approx(expected, abs=ROUNDING * (1 + purse))


def check_dyadic(seen):
    """Gaps are [jw, (j + 1) w], w = pi / 2^l, l >= 5."""
    w = np.diff(seen.theta)
    for ratio in (seen.theta[1:] / w, math.pi / w):
        assert ratio == pytest.approx(np.round(ratio), rel=1e-9)
    levels = np.log2(math.pi / w)
    assert levels == pytest.approx(np.round(levels), abs=1e-6)
    assert levels.min() > 4.9


@every_policy
@lenient
def test_lemmas_3_to_5_in_every_round(policy, lenient):
    stage = SafeKernel(lenient)
    watch(stage, POLICIES[policy], 1500, check_round)
    check_dyadic(look(stage))


@pytest.mark.parametrize("rule", [OwnSlopes, RootSlopes, BoldStage, Generous, Reckless])
def test_lemmas_3_to_5_fail_for_a_broken_rule(rule):
    policy = POLICIES["random means, greedy"]
    watch(TwinStage(NaiveSafe()), policy, 400, check_round)
    with pytest.raises(AssertionError):
        watch(TwinStage(rule()), policy, 2500, check_round)


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
        S = r((n + 1) * v + FRESH) + np.exp(random.uniform(-3, 6, 2))
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
        self.squares, self.mixed = {}, 0  # squares by gap

    def __call__(self, played):
        gap = played.gap
        if gap is not None:
            left, right = played.before.theta[gap], played.before.theta[gap + 1]
            self.squares[left, right] = self.squares.get((left, right), 0.0) + (right - left) ** 2
            self.mixed += 1

    def check_lemma_6(self, seen, rounds):
        most = 32 * (1 + 2 * math.log(seen.gaps / 32))
        for (left, right), squares in self.squares.items():
            assert squares <= most + (right - left) ** 2 + ROUNDING
        assert sum(self.squares.values()) <= (2 * seen.gaps - 32) * most + 0.62
        assert seen.gaps**3 <= 96 * math.pi**2 * rounds + 32**3
        assert seen.gaps <= max(128, 31.6 * rounds**0.2, 7.8 * self.mixed ** (1 / 3))

    def check_theorem(self, seen, purse, predictions, outcomes):
        """(S1) is about expectations; its right side is so far above that luck does not matter."""
        points = seen.gaps - 1
        noise = float(np.log1p(4 * seen.n * seen.v).sum())
        bound = 1.15 * noise + 1.5 * points + 9 / 8 * sum(self.squares.values())
        assert seen.costs + purse <= bound + ROUNDING
        few = np.where(seen.n[seen.n > 0] < 8, 7, 1.57).sum()
        assert cal2(predictions, outcomes) <= 0.5625 * seen.costs + few
        most = math.log(158 * len(outcomes))
        assert klcal(predictions, outcomes) <= most * (4 * seen.costs + 12.4 * points)


def counted(stage, policy, rounds, seed=1):
    count = Count()
    predictions, outcomes = watch(stage, policy, rounds, count, seed)
    return count, look(stage), stage.purse, predictions, outcomes


@every_policy
@lenient
def test_lemma_6_and_the_theorem(policy, lenient):
    for seed, rounds in enumerate((300, 6000)):
        stage = SafeKernel(lenient)
        count, seen, purse, predictions, outcomes = counted(stage, POLICIES[policy], rounds, seed)
        count.check_lemma_6(seen, rounds)
        count.check_theorem(seen, purse, predictions, outcomes)
        assert seen.n.sum() == rounds


def test_lemma_6_fails_if_mixed_rounds_do_not_count():
    policy, rounds = POLICIES["beside the mark"], 14_000
    count, seen, *_ = counted(SafeKernel(), policy, rounds)
    count.check_lemma_6(seen, rounds)
    count, seen, *_ = counted(TwinStage(Uncounted()), policy, rounds)
    with pytest.raises(AssertionError):
        count.check_lemma_6(seen, rounds)


def test_lemma_6_fails_if_cuts_come_too_early():
    count, seen, *_ = counted(TwinStage(Hasty()), POLICIES["random means, greedy"], 1500)
    with pytest.raises(AssertionError):
        count.check_lemma_6(seen, 1500)


def test_the_theorem_fails_for_a_broken_rule():
    policy = POLICIES["random means, greedy"]
    for rule, holds in ((NaiveSafe, True), (OwnSlopes, False)):
        count, *played = counted(TwinStage(rule()), policy, 4000)
        if holds:
            count.check_theorem(*played)
        else:
            with pytest.raises(AssertionError):
                count.check_theorem(*played)


# -- batches -------------------------------------------------------------------------------------


class Batched:
    """The stage of a slow reference, each of whose rounds is checked."""

    def __init__(self, stage, check):
        self.stage, self.watched = stage, Watched(TwinStage(stage), check)

    def place(self, mean):
        self.watched.place(mean)
        return self.stage.place(mean)

    def is_bet(self, mean):
        return self.stage.is_bet(mean)

    def is_moved(self, mean, points):
        return self.stage.is_moved(mean, points)

    def learn(self, mean, point, outcome, _bet):
        self.watched.learn(mean, point.z, outcome)


def play_batches(stage, check, batches=8, size=150):
    """Play batches whose ones come first in the order in which rows are learned.

    On the whole nothing is wrong with a batch, so that means stay; each row meets a stage that is
    biased by those before it.
    """
    twin = NaiveRecalibrator(seed=4)
    twin.safe = Batched(stage, check)
    for batch in range(batches):
        ids = list(range(size * batch, size * (batch + 1)))
        twin.predict_many([0.5] * size, ids)
        ones = sorted(ids, key=lambda id_: scramble(id_ + 1))[: size // 2]
        twin.update_many([float(id_ in ones) for id_ in ids], ids)


def test_lemmas_3_to_5_in_every_row_of_a_batch():
    """The mean of a row follows from its outcome, and from those of all others."""
    rounds = []

    def check(played):
        check_round(played)
        rounds.append((played.gap is not None, played.bet))

    play_batches(NaiveSafe(), check)
    assert len(rounds) == 8 * 150
    mixed, bets = np.sum(rounds, axis=0)
    assert mixed > 20, (mixed, bets)
    assert bets > 20, (mixed, bets)


@pytest.mark.parametrize("rule", [OwnSlopes, RootSlopes, Generous, Reckless])
def test_lemmas_3_to_5_fail_in_batches_for_a_broken_rule(rule):
    with pytest.raises(AssertionError):
        play_batches(rule(), check_round)


# -- the kernel and its twin ---------------------------------------------------------------------


@every_policy
@lenient
def test_the_kernel_agrees_with_its_twin_for_any_means(policy, lenient):
    games = [
        (stage, *Game(stage, 1500, seed=5).play(POLICIES[policy]))
        for stage in (SafeKernel(lenient), TwinStage(NaiveSafe(lenient)))
    ]
    (kernel, *played), (twin, *played_by_twin) = games
    np.testing.assert_allclose(played, played_by_twin, rtol=0, atol=1e-12)
    assert kernel.purse == pytest.approx(twin.purse, abs=1e-9)
    for name, column in kernel.columns().items():
        np.testing.assert_allclose(column, twin.columns()[name], rtol=0, atol=1e-9)


def test_late_bets_are_charged_as_by_the_twin():
    """Outcomes come after other predictions, and bets were placed on grids that are gone."""
    random = np.random.default_rng(2)
    kernel, twin = SafeKernel(), NaiveSafe()
    waiting = []
    for t in range(3000):
        mean = float(random.uniform(0.3, 0.7))
        lo, hi, share = kernel.place(mean)
        points, _ = twin.place(mean)
        drawn = points[0] if random.random() < share else points[-1]
        assert drawn.z == pytest.approx(lo if drawn is points[0] else hi, abs=1e-12)
        bet = twin.is_bet(mean)
        assert kernel.is_bet(mean) == bet
        waiting.append((t, mean, drawn, bet))
        if len(waiting) > 40:
            number, mean, drawn, bet = waiting.pop(int(random.integers(40)))
            outcome = float(random.random() < 0.65)
            kernel.learn(mean, drawn.z, outcome, bet=bet, lag=t - number)
            twin.learn(mean, drawn, outcome, bet, t - number)
    assert kernel.purse == pytest.approx(twin.purse, abs=1e-9)
    np.testing.assert_allclose(kernel.columns()["S"], [point.bias for point in twin.points])
