"""What docs/dyadic-hedge.md proves, on real paths of the slow reference; and a broken rule."""

import math

import numpy as np
import pytest

from calibrant.forecasters.rivals import DyadicHedge
from calibrant.measures import cal1, cal2
from calibrant.streams import Chaser, Contrarian, Greedy, drift, iid, piecewise, play
from naive.rivals import ada_normal_hedge, dyadic_hedge, find_leaves

T = 400
STREAMS = {
    "iid": lambda seed: iid(T, mean=0.37, seed=seed).outcomes,
    "segments": lambda seed: piecewise(T, segments=5, seed=seed).outcomes,
    "drift": lambda seed: drift(T, seed=seed).outcomes,
    "contrarian": lambda seed: play(DyadicHedge(seed=seed), Contrarian(), T).outcomes,
    "greedy": lambda seed: play(DyadicHedge(seed=seed), Greedy("l2"), T).outcomes,
    "chaser": lambda seed: play(DyadicHedge(seed=seed), Chaser(seed=seed), T).outcomes,
}
every_stream = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


def potential(R, C):
    return math.exp(max(R, 0.0) ** 2 / (3 * C)) if C else 1.0


def round_of(leaves, first=None):
    """Return, for the outcomes 0, 0.3 and 1, what the experts gain on average, and their changes.

    `first` is the probability of the first of two leaves, the rule's own if not given.
    """
    found, own, margin = find_leaves(leaves)
    first = own if first is None else first
    chances = [first, 1 - first]
    gains, changes, scale = [], [], 0.0
    for y in (0.0, 0.3, 1.0):
        gain = 0.0
        for k, chance in zip(found, chances[: len(found)], strict=True):
            d = y - float(leaves[k].middle)
            for weight, r in zip(leaves[k].weights(), (d - margin, -d - margin), strict=True):
                gain += chance * weight * r
                scale = max(scale, chance * weight)
                changes.append(r)
        gains.append(gain)
    widest = max(float(leaves[k].width) for k in found)
    return np.array(gains), np.array(changes), margin, widest, 1e-12 * max(scale, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_potential_of_ada_normal_hedge(seed):
    """Luo & Schapire: a step r raises it by at most its weight times r, and 3|r| / (2C + 2)."""
    random = np.random.default_rng(seed)
    for _ in range(2_000):
        C = 0.0 if random.random() < 0.1 else 10 ** random.uniform(-3, 3)
        R = C * random.uniform(-1, 1) * random.choice([1, 0.1])
        r = random.choice([-1, 1]) * random.choice([1, random.random()])
        bound = potential(R, C) + ada_normal_hedge(R, C) * r + 1.5 * abs(r) / (C + 1)
        assert potential(R + r, C + abs(r)) <= bound * (1 + 1e-12)


@every_stream
def test_no_outcome_helps_the_experts(stream):
    """Lemma 1: they gain nothing on average, changes are at most 1, margins half a leaf."""

    def look(leaves):
        gains, changes, margin, widest, slack = round_of(leaves)
        assert (gains <= slack).all()
        assert np.abs(changes).max() <= 1 + 1e-15
        assert 0 <= margin <= widest / 2

    dyadic_hedge(stream(1).tolist(), 1, look)


def test_other_chances_would_help_the_experts():
    helped = []

    def look(leaves):
        found, first, _ = find_leaves(leaves)
        if len(found) == 2 and abs(first - 0.5) > 0.1:
            gains, *_, slack = round_of(leaves, 1 - first)
            helped.append((gains > slack).any())

    dyadic_hedge(STREAMS["iid"](1).tolist(), 1, look)
    assert len(helped) > 10
    assert all(helped)


@every_stream
def test_counts_and_costs_of_leaves(stream):
    """Lemmas 2 and 3, on the path: how many leaves, what they cost, how far a bias can go."""
    for seed in range(3):
        outcomes = stream(seed)
        predictions, split, last = dyadic_hedge(outcomes.tolist(), seed)
        every = split + last
        assert len(every) == 2 * len(split) + 1
        assert len(split) <= (24 * T) ** (1 / 3)
        # Every round counts at the wider leaf of its pair; half a leaf's own width bounds a margin.
        widths = [max(leaf.width, other) ** 2 for leaf in every for other in leaf.partners]
        rounds = [1 if other == 0 else 0.5 for leaf in every for other in leaf.partners]
        assert float(np.dot(np.array(widths, dtype=float), rounds)) <= len(every)
        logs = [
            math.log(sum(potential(R, C) for R, C in leaf.regrets())) for leaf in every if leaf.seen
        ]
        assert cal2(predictions, outcomes) <= len(every) / 2 + 6 * sum(logs)
        for leaf in every:
            biases = np.abs(np.cumsum([0.0, *(d for d, _ in leaf.seen)]))
            far = (1.5 + math.sqrt(3 * max(logs))) / float(leaf.width)
            assert len(leaf.partners) <= 4**leaf.level
            assert biases[-1] <= far
        for leaf in split:
            if min(leaf.beside) >= leaf.width / 2:  # an ordinary cut
                near = [other for other in leaf.partners if other <= leaf.width]
                assert set(near) <= {0, leaf.width / 2, leaf.width}
                assert len(near) >= 4**leaf.level / 3


@every_stream
def test_potential_grows_slowly_on_average(stream):
    """Lemma 2 on average over ten seeds, with outcomes fixed beforehand: far from its bound."""
    outcomes = stream(100)
    total, allowed = 0.0, 0.0
    for seed in range(10):
        _, split, last = dyadic_hedge(outcomes.tolist(), seed)
        for leaf in split + last:
            for R, C in leaf.regrets():
                total += potential(R, C)
                allowed += 1 + 1.5 * (1 + math.log(1 + C))
    assert total <= allowed


def bound(rounds, leaves):
    """Return the theorem's right side for so many leaves."""
    return (0.5 + 6 * math.log(2 + 3 * (1 + math.log(1 + rounds)))) * leaves


@pytest.mark.parametrize("rounds", [1_000, 10_000, 100_000])
@pytest.mark.parametrize(
    "hire", [Contrarian, lambda: Greedy("l1"), lambda: Greedy("l2"), lambda: Chaser(seed=3)]
)
def test_worst_case_is_kept(hire, rounds):
    game = play(DyadicHedge(seed=5), hire(), rounds)
    found = cal2(game.predictions, game.outcomes)
    assert found <= bound(rounds, 2 * (24 * rounds) ** (1 / 3) + 1)
    # What is measured is far below: without splitting, or with the wrong signs, it is of order T.
    assert found <= 3 * rounds ** (1 / 3)
    assert cal1(game.predictions, game.outcomes) <= math.sqrt(rounds * found) * (1 + 1e-12)


def test_few_leaves_where_nothing_moves():
    """With a constant mean the leaves are of order log^(5/2) T, and Cal1 of order sqrt(T)."""
    leaves, errors = [], []
    for rounds in (10_000, 1_000_000):
        outcomes = iid(rounds, mean=0.37, seed=1).outcomes
        forecaster = DyadicHedge(seed=1)
        errors.append(cal1(forecaster.run(outcomes), outcomes) / math.sqrt(rounds))
        leaves.append(len(forecaster._get_state()["level"]))
    assert leaves[1] <= 2.5 * leaves[0]  # (log ratio)^(5/2) is 2.8; T^(1/3) would be 4.6
    assert max(errors) < 3
