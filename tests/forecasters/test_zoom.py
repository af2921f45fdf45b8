"""Zoom: against its slow twin bit for bit, what holds by construction, and how well it does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Zoom
from calibrant.measures import Scorecard
from calibrant.streams import (
    Contrarian,
    Greedy,
    alternating,
    drift,
    iid,
    piecewise,
    play,
    random_walk,
)
from forecasters.cases import random_stream
from naive.zoom import NaiveZoom

SEEDS = range(20)
T = 100_000


@pytest.mark.parametrize("number", range(120))
def test_agrees_with_its_twin_bit_for_bit(number):
    outcomes = random_stream(number, 1500)
    kernel, twin = Zoom(seed=number), NaiveZoom(seed=number)
    assert kernel.run(outcomes).tolist() == twin.run(outcomes.tolist())
    state = kernel._get_state()
    assert state["z"].tolist() == [point.z for point in twin.points]
    assert state["S"].tolist() == [point.bias for point in twin.points]
    assert state["n"].tolist() == [point.visits for point in twin.points]
    assert state["purse"] == twin.purse
    assert state["m"] == twin.recent_mean


@pytest.mark.parametrize(
    "make", [lambda T: iid(T, mean=0.0), alternating, drift], ids=["zeros", "alternating", "drift"]
)
def test_agrees_with_its_twin_over_a_long_stream(make):
    outcomes = make(30_000).outcomes
    assert Zoom(seed=1).run(outcomes).tolist() == NaiveZoom(seed=1).run(outcomes.tolist())


streams = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)), min_size=1, max_size=400
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(streams, st.integers(0, 2**64 - 1))
def test_zero_and_one_are_never_predicted_and_the_grid_stays_in_order(outcomes, seed):
    forecaster = Zoom(seed=seed)
    for outcome in outcomes:
        points, _weights = forecaster.distribution()
        assert ((points > 0) & (points < 1)).all()
        # Where two points are mixed they are neighbours on the grid.
        grid = forecaster.grid().points
        if len(points) == 2:
            assert np.flatnonzero(grid == points[1]) - np.flatnonzero(grid == points[0]) == 1
        forecaster.update(outcome)
    grid = forecaster.grid()
    assert (np.diff(grid.points) > 0).all()
    assert grid.visits.sum() == len(outcomes)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(streams, st.integers(0, 2**64 - 1))
def test_bias_is_what_the_measures_see(outcomes, seed):
    """Visits and biases of the grid are the exact table of distinct predictions."""
    forecaster, card = Zoom(seed=seed), Scorecard()
    card.extend(forecaster.run(outcomes), outcomes)
    grid, table = forecaster.grid(), card.distinct()
    visited = grid.visits > 0
    assert grid.points[visited].tolist() == table.prediction.tolist()
    assert grid.visits[visited].tolist() == table.count.tolist()
    seen = table.count * (table.prediction - table.mean_outcome)
    assert grid.bias[visited] == pytest.approx(seen, abs=1e-9)


class Spoiler:
    """An opponent that turns every bet against the forecaster, and drifts otherwise."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.level = 0.5

    def choose(self, forecaster):
        points, _weights = forecaster.distribution()
        state = forecaster._get_state()
        if len(points) == 1:
            return float(points[0] > state["m"])
        self.level = min(max(self.level + self.random.normal(0, 0.02), 0), 1)
        return float(self.random.random() < self.level)


@pytest.mark.parametrize("seed", range(5))
def test_bets_cost_no_more_than_their_purse(seed):
    """The purse is at least minus one round's rise of e, whoever plays.

    A bet is made only while the purse is positive and lowers it by the rise of one point's
    e = S^2 / (n v + 1). One visit raises |S| by at most 1, so e rises by at most
    (2|S| + 1) / (n v + 1); over the whole game the rises of all bets together are then at most
    half the number of cuts, what bets lowered, and one such rise.
    """
    forecaster, opponent = Zoom(seed=seed), Spoiler(seed)
    for _ in range(4000):
        outcome = opponent.choose(forecaster)
        grid = forecaster.grid()
        drawn = np.flatnonzero(grid.points == forecaster.predict())[0]
        spread = grid.visits[drawn] * grid.points[drawn] * (1 - grid.points[drawn]) + 1
        rise = (2 * abs(grid.bias[drawn]) + 1) / spread
        before = forecaster._get_state()["purse"]
        forecaster.update(outcome)
        after = forecaster._get_state()["purse"]
        assert after >= before or before > 0, "a bet was made from an empty purse"
        assert after >= before - rise - 1e-12


def mean_score(games):
    """Return the mean Cal1, Cal2 and KLCal of games, each a pair of predictions and outcomes."""
    scores = []
    for predictions, outcomes in games:
        card = Scorecard()
        card.extend(predictions, outcomes)
        scores.append((card.cal1, card.cal2, card.klcal))
    return np.mean(scores, axis=0)


def against_streams(family, **parameters):
    for seed in SEEDS:
        outcomes = family(T, seed=seed, **parameters).outcomes
        yield Zoom(seed=seed).run(outcomes), outcomes


def against(adversary):
    for seed in SEEDS:
        game = play(Zoom(seed=seed), adversary(), T)
        yield game.predictions, game.outcomes


# Limits on the mean Cal2 over 20 seeds of 100,000 rounds. The measured means (benchmarks/error.md)
# lie below them by more than three of their standard errors, which were 3 % to 8 % over 20 seeds.
CAL2_LIMITS = [
    ("iid 0.5", lambda: against_streams(iid, mean=0.5), 12),
    ("iid 0.1", lambda: against_streams(iid, mean=0.1), 4.5),
    ("piecewise, K = 20", lambda: against_streams(piecewise, segments=20), 6),
    ("piecewise, K = 100", lambda: against_streams(piecewise, segments=100), 2),
    ("drift", lambda: against_streams(drift), 22),
    ("random walk", lambda: against_streams(random_walk), 13),
    ("Greedy l1", lambda: against(lambda: Greedy("l1")), 10),
    ("Greedy l2", lambda: against(lambda: Greedy("l2")), 10),
    ("Contrarian", lambda: against(Contrarian), 16),
]


@pytest.mark.parametrize(
    ("games", "limit"), [case[1:] for case in CAL2_LIMITS], ids=[case[0] for case in CAL2_LIMITS]
)
def test_cal2_stays_small(games, limit):
    _, cal2, klcal = mean_score(games())
    assert cal2 <= limit
    assert np.isfinite(klcal)


@pytest.mark.parametrize(("mean", "limit"), [(0.0005, 17), (0.0, 8), (1.0, 8)])
def test_klcal_of_rare_events_stays_small(mean, limit):
    assert mean_score(against_streams(iid, mean=mean))[2] <= limit


def test_points_grow_slowly():
    """Stationary outcomes need about log T points, not a power of T."""
    counts = []
    for rounds in (10_000, 100_000, 1_000_000):
        forecaster = Zoom(seed=1)
        forecaster.run(iid(rounds, seed=1).outcomes)
        counts.append(len(forecaster.grid().points))
    assert counts[-1] <= 2 * counts[0]
