"""Zoom: against its slow reference, what holds by construction, and how well it does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Zoom
from calibrant.measures import Scorecard, cal2
from calibrant.saving import pack, unpack
from calibrant.streams import (
    Contrarian,
    Drag,
    Greedy,
    Learned,
    March,
    SignPreservation,
    alternating,
    drift,
    iid,
    piecewise,
    play,
    random_walk,
)
from forecasters.cases import random_stream
from naive.march import NaiveMarch
from naive.zoom import NaiveZoom
from naive.zoom_before import NaiveZoomBefore

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
    assert state["R"].tolist() == [point.imagined_bias for point in twin.points]
    assert state["g"].tolist() == [point.rounds_in_gap for point in twin.points]
    assert state["purse"] == twin.purse
    assert state["squares"] == twin.squares
    assert state["m"] == twin.recent_mean


@pytest.mark.parametrize(
    "make", [lambda T: iid(T, mean=0.0), alternating, drift], ids=["zeros", "alternating", "drift"]
)
def test_agrees_with_its_twin_over_a_long_stream(make):
    outcomes = make(30_000).outcomes
    assert Zoom(seed=1).run(outcomes).tolist() == NaiveZoom(seed=1).run(outcomes.tolist())


# -- retirement ------------------------------------------------------------------------------------


def cheat(forecaster, rounds):
    """Answer each draw with the outcome that its point has too few of; return the outcomes.

    Only who sees the draws can do that, and so drive a point's cost beyond hope.
    """
    outcomes = []
    for _ in range(rounds):
        p, state = forecaster.predict(), forecaster._get_state()
        outcomes.append(float(state["R"][state["z"] == p][0] <= 0))
        forecaster.update(outcomes[-1])
    return outcomes


@pytest.fixture(scope="module")
def cheated():
    forecaster = Zoom(seed=5)
    return forecaster, cheat(forecaster, 6_000)


def test_hopeless_points_retire_as_in_the_twin(cheated):
    forecaster, outcomes = cheated
    twin = NaiveZoom(seed=5)
    assert Zoom(seed=5).run(outcomes).tolist() == twin.run(outcomes)
    state = forecaster._get_state()
    assert len(twin.retired) > 1
    assert state["retired_z"].tolist() == [point.z for point in twin.retired]
    assert state["retired_n"].tolist() == [point.visits for point in twin.retired]
    assert state["retired_S"].tolist() == [point.bias for point in twin.retired]
    assert state["retired_R"].tolist() == [point.imagined_bias for point in twin.retired]
    assert state["R"].tolist() == [point.imagined_bias for point in twin.points]


def test_the_grid_counts_all_lives(cheated):
    forecaster, outcomes = cheated
    card = Scorecard()
    card.extend(Zoom(seed=5).run(outcomes), outcomes)
    grid, table = forecaster.grid(), card.distinct()
    visited = grid.visits > 0
    assert grid.visits.sum() == forecaster.rounds
    assert grid.visits[visited].tolist() == table.count.tolist()
    seen = table.count * (table.prediction - table.mean_outcome)
    assert grid.bias[visited] == pytest.approx(seen, abs=1e-9)


def test_retired_lives_are_saved_and_count_in_the_certificate(cheated):
    forecaster, _ = cheated
    again = Zoom.from_bytes(forecaster.to_bytes())
    assert again.to_bytes() == forecaster.to_bytes()
    assert again.certificate() == forecaster.certificate()
    assert again.predict() == forecaster.predict()
    z, n, S, R = forecaster._lives()
    Phi, bound = forecaster._theorem()
    assert ((R + 0.5 - z) ** 2 / (n * z * (1 - z) + 1)).sum() == pytest.approx(Phi)
    rest = np.where(n < 8, np.minimum(n, 1), 1 / np.maximum(n, 8)).sum()
    assert forecaster.certificate() == pytest.approx(bound / 2 + rest)
    # Proposition 1 life by life; by Cauchy and Schwarz their errors are at least Cal2.
    grid = forecaster.grid()
    lives = (S[n > 0] ** 2 / n[n > 0]).sum()
    visited = grid.visits > 0
    assert (grid.bias[visited] ** 2 / grid.visits[visited]).sum() <= lives <= Phi / 2 + len(n)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("retired_z", 1e-4),
        ("retired_n", 0.5),
        ("retired_n", 1.0),
        ("retired_S", 1e6),
        ("retired_R", 2.0),
        ("retired_R", float("nan")),
    ],
)
def test_forged_lives_are_refused(cheated, name, change):
    saved = unpack(cheated[0].to_bytes())
    changed = saved.state[name].copy()
    changed[0] += change
    with pytest.raises(ValueError, match="saved"):
        Zoom.from_bytes(pack(saved._replace(state={**saved.state, name: changed})))
    hopeful = {**saved.state, "retired_R": saved.state["z"][1:2], "retired_S": np.zeros(1)}
    hopeful |= {"retired_n": np.ones(1), "retired_z": saved.state["z"][1:2]}
    with pytest.raises(ValueError, match="saved"):
        Zoom.from_bytes(pack(saved._replace(state=hopeful)))


def test_nothing_retires_that_was_not_cheated():
    """The rule is for the theorems: the costs stay far below, on streams and against opponents."""
    for opponent in (March(20_000), Greedy("l2"), Contrarian(), Learned(20_000, against="zoom")):
        play(forecaster := Zoom(seed=1), opponent, 20_000)
        assert "retired_n" not in forecaster._get_state()


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


def saved_by_the_rule_before():
    """Return bytes as the first rule wrote them: no version, no R."""
    saved = unpack(Zoom(seed=3).to_bytes())
    state = {k: v for k, v in saved.state.items() if k not in ("version", "squares", "R")}
    return pack(saved._replace(state=state))


def test_a_state_of_the_rule_before_is_refused_in_words_that_help():
    with pytest.raises(ValueError, match=r"has version 1, of another rule .* with run\(\)"):
        Zoom.from_bytes(saved_by_the_rule_before())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "has version 3, of another rule"),
        ({"purse": -0.5}, "purse must be a number in"),
        ({"squares": -1.0}, "squares must be a number in"),
        ({"R": np.zeros(2)}, "S must have 2 values, got 3"),
        ({"R": np.array([0.0, 1.5, 0.0])}, "R must lie within 1 of S"),
        ({"R": np.array([0.0, np.nan, 0.0])}, "R must be finite"),
        ({"S": 3.0}, "S must be an array"),
    ],
)
def test_forged_states_are_refused(change, message):
    saved = unpack(Zoom().to_bytes())
    with pytest.raises(ValueError, match=message):
        Zoom.from_bytes(pack(saved._replace(state={**saved.state, **change})))


@pytest.mark.parametrize("number", range(10))
def test_a_saved_zoom_continues_in_the_same_gap(number):
    """The search that a saved state must repeat finds what the one before it had found."""
    outcomes = random_stream(number, 1500)
    whole, half = Zoom(seed=number), Zoom(seed=number)
    predictions = whole.run(outcomes)
    first = half.run(outcomes[:700])
    second = Zoom.from_bytes(half.to_bytes()).run(outcomes[700:])
    assert predictions.tolist() == [*first, *second]


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


# Limits on the mean Cal2 over 20 seeds of 100,000 rounds. The measured means (benchmarks/error.md,
# and of the strongest opponents benchmarks/hostile-paper.md) lie below them by more than three of
# their standard errors, which were 2% to 8% over 20 seeds.
CAL2_LIMITS = [
    ("iid 0.5", lambda: against_streams(iid, mean=0.5), 12),
    ("iid 0.1", lambda: against_streams(iid, mean=0.1), 4.5),
    ("piecewise, K = 20", lambda: against_streams(piecewise, segments=20), 6),
    ("piecewise, K = 100", lambda: against_streams(piecewise, segments=100), 2),
    ("drift", lambda: against_streams(drift), 20),
    ("random walk", lambda: against_streams(random_walk), 12),
    ("Greedy l1", lambda: against(lambda: Greedy("l1")), 10),
    ("Greedy l2", lambda: against(lambda: Greedy("l2")), 10),
    ("Contrarian", lambda: against(Contrarian), 16),
    ("March", lambda: against(lambda: March(T)), 70),
    ("Drag", lambda: against(lambda: Drag(T)), 48),
    ("Drag, 3 sweeps", lambda: against(lambda: Drag(T, sweeps=3.0)), 44),
    ("Drag, fresher", lambda: against(lambda: Drag(T, width=0.015, fresher=True)), 56),
    ("SignPreservation", lambda: against(lambda: SignPreservation(T, seed=1)), 15),
    ("Learned, of events", lambda: against(lambda: Learned(T)), 60),
    ("Learned, of Zoom", lambda: against(lambda: Learned(T, against="zoom")), 100),
]


@pytest.mark.parametrize(
    ("games", "limit"), [case[1:] for case in CAL2_LIMITS], ids=[case[0] for case in CAL2_LIMITS]
)
def test_cal2_stays_small(games, limit):
    _, squared, klcal = mean_score(games())
    assert squared <= limit
    assert np.isfinite(klcal)


@pytest.mark.parametrize(("mean", "limit"), [(0.0005, 13), (0.0, 8), (1.0, 8)])
def test_klcal_of_rare_events_stays_small(mean, limit):
    assert mean_score(against_streams(iid, mean=mean))[2] <= limit


def test_march_shows_what_was_wrong_with_the_rule_before():
    """At 100,000 rounds it drives the rule before, with costs as weights, to 160 and this to 60."""
    march = NaiveMarch(level=6, ratio=2.0, push=1.0, lead=2.0)
    predictions, outcomes = march.play(NaiveZoomBefore(seed=1), T)
    assert cal2(predictions, outcomes) >= 120
    game = play(Zoom(seed=1), March(T), T)
    assert cal2(game.predictions, game.outcomes) <= 70


def test_points_grow_slowly():
    """Stationary outcomes need about log T points, not a power of T."""
    counts = []
    for rounds in (10_000, 100_000, 1_000_000):
        forecaster = Zoom(seed=1)
        forecaster.run(iid(rounds, seed=1).outcomes)
        counts.append(len(forecaster.grid().points))
    assert counts[-1] <= 2 * counts[0]
