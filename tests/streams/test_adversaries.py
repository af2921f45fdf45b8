"""Adversaries against their slow references, and games against single steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibrant import Epoch, Zoom
from calibrant.forecasters.rivals import FosterHart, RunningMean
from calibrant.measures import cal2
from calibrant.streams import (
    ADVERSARIES,
    Adversary,
    Chaser,
    Contrarian,
    Drag,
    Game,
    Greedy,
    Learned,
    March,
    SignPreservation,
    iid,
    play,
)
from calibrant.streams.adversaries import genes
from naive import streams as naive
from naive.march import NaiveMarch
from naive.zoom import NaiveZoom

# Each adversary, and its twin.
PAIRS: dict[str, tuple[Callable[[int], Adversary], Callable[[int], Any]]] = {
    "greedy l1": (lambda _: Greedy("l1"), lambda _: naive.Greedy("l1")),
    "greedy l2": (lambda _: Greedy("l2"), lambda _: naive.Greedy("l2")),
    "contrarian": (lambda _: Contrarian(), lambda _: naive.Contrarian()),
    "chaser": (lambda seed: Chaser(seed=seed), lambda seed: naive.Chaser(0.001, 0.5, seed)),
    "quick chaser": (
        lambda seed: Chaser(0.07, start=0.1, seed=seed),
        lambda seed: naive.Chaser(0.07, 0.1, seed),
    ),
    "drag": (
        lambda _: Drag(300, sweeps=2, width=0.1),
        lambda _: naive.Drag(300, 2.0, 0.1, 0.4),
    ),
    "drag, fresher": (
        lambda _: Drag(300, width=0.2, fresher=True),
        lambda _: naive.Drag(300, 1.0, 0.2, 0.4, fresher=True),
    ),
    "sign preservation": (
        lambda seed: SignPreservation(100, seed=seed),
        lambda seed: naive.SignPreservation(100, seed),
    ),
    "learned, of zoom": (
        lambda _: Learned(300, against="zoom"),
        lambda _: naive.Learned(300, genes()["zoom"]),
    ),
    "learned": (lambda _: Learned(300), lambda _: naive.Learned(300, genes()["events"])),
    "learned, of scores": (
        lambda _: Learned(300, against="scores"),
        lambda _: naive.Learned(300, genes()["scores"]),
    ),
}
FORECASTERS = {
    "zoom": Zoom,
    "epoch": lambda seed: Epoch(seed=seed),
    "foster-hart": lambda seed: FosterHart(10, seed=seed),
    "running mean": lambda seed: RunningMean(seed=seed),
}


# March has a twin that reads a whole Zoom, not its distribution; it is compared further down.
MARCHES: dict[str, Callable[[int], Adversary]] = {
    "march": lambda _: March(1000),
    "slow march": lambda _: March(20_000, ratio=2.0, push=1.0, lead=4.0),
}
MAKERS = {**{name: make for name, (make, _) in PAIRS.items()}, **MARCHES}


def stepped(forecaster: Any, adversary: Adversary, rounds: int) -> Game:
    predictions, outcomes = [], []
    for _ in range(rounds):
        y = adversary.choose(forecaster)
        p = forecaster.predict()
        adversary.observe(p, y)
        forecaster.update(y)
        predictions.append(p)
        outcomes.append(y)
    return Game(np.array(predictions), np.array(outcomes))


def same(one: Game, other: Game) -> bool:
    return np.array_equal(one.predictions, other.predictions) and np.array_equal(
        one.outcomes, other.outcomes
    )


@pytest.mark.parametrize("forecaster", FORECASTERS)
@pytest.mark.parametrize("pair", PAIRS)
def test_every_choice_is_that_of_the_definition(pair, forecaster):
    for seed in range(2):
        adversary, twin = (make(seed) for make in PAIRS[pair])
        f = FORECASTERS[forecaster](seed)
        for _ in range(120):
            points, weights = (column.tolist() for column in f.distribution())
            y = adversary.choose(f)
            assert y == twin.choose(points, weights)
            p = f.predict()
            adversary.observe(p, y)
            twin.observe(p, y)
            f.update(y)


@pytest.mark.parametrize("pair", PAIRS)
def test_greedy_choices_after_outcomes_of_a_random_stream(pair):
    # Off the path that the adversary itself would take: outcomes it did not choose, fractions too.
    generator = np.random.default_rng(3)
    adversary, twin = (make(1) for make in PAIRS[pair])
    f = Zoom(5)
    for y in np.round(generator.random(150), 2).tolist():
        points, weights = (column.tolist() for column in f.distribution())
        assert adversary.choose(f) == twin.choose(points, weights)
        p = f.predict()
        adversary.observe(p, y)
        twin.observe(p, y)
        f.update(y)


@pytest.mark.parametrize("forecaster", FORECASTERS)
@pytest.mark.parametrize("adversary", MAKERS)
def test_play_is_bit_for_bit_what_stepping_gives(adversary, forecaster):
    make = MAKERS[adversary]
    start = FORECASTERS[forecaster]
    whole = play(start(4), make(4), 700)
    assert same(whole, stepped(start(4), make(4), 700))
    assert same(whole, play(start(4), make(4), 700))
    # In three parts, one of them stepped: both sides continue where they stand.
    f, a = start(4), make(4)
    parts = [play(f, a, 300), stepped(f, a, 100), play(f, a, 300), play(f, a, 0)]
    assert np.array_equal(whole.predictions, np.concatenate([g.predictions for g in parts]))
    assert np.array_equal(whole.outcomes, np.concatenate([g.outcomes for g in parts]))
    assert a.rounds == f.rounds == len(whole) == 700


def test_play_passes_the_border_of_its_chunks():
    whole = play(Zoom(1), Greedy("l2"), 40_000)
    f, a = Zoom(1), Greedy("l2")
    first, second = play(f, a, 32_767), play(f, a, 7_233)
    assert np.array_equal(whole.outcomes, np.concatenate([first.outcomes, second.outcomes]))


@pytest.mark.parametrize("adversary", MAKERS)
def test_the_forecaster_learns_from_a_game_as_from_a_stream(adversary):
    game = play(Zoom(2), MAKERS[adversary](2), 2000)
    assert np.array_equal(game.predictions, Zoom(2).run(game.outcomes))


@pytest.mark.parametrize("adversary", MAKERS)
def test_choosing_is_pure(adversary):
    one, other = MAKERS[adversary](6), MAKERS[adversary](6)
    f = Zoom(6)
    for _ in range(200):
        y = one.choose(f)
        assert one.choose(f) == one.choose(f) == other.choose(f) == y
        p = f.predict()
        for a in (one, other):
            a.observe(p, y)
        f.update(y)


def test_contrarian_defeats_whoever_never_randomises():
    game = play(RunningMean(), Contrarian(), 500)
    assert np.all(np.where(game.predictions < 0.5, game.outcomes == 1, game.outcomes == 0))


def test_chaser_sweeps_the_whole_range_and_draws_its_outcomes():
    adversary, forecaster = Chaser(0.002, seed=8), Zoom(3)
    targets, outcomes = [], []
    for _ in range(20_000):
        y = adversary.choose(forecaster)
        targets.append(adversary.target)
        outcomes.append(y)
        adversary.observe(forecaster.predict(), y)
        forecaster.update(y)
    q, y = np.array(targets), np.array(outcomes)
    assert q.min() < 0.01
    assert q.max() > 0.99
    # A step per round, or less than a step where it turns at an end.
    assert np.all(np.abs(np.diff(q)) <= 0.002 + 1e-12)
    # z = sum (y - q) / sqrt(sum q(1-q)) is close to normal given the path: below 5 in absolute
    # value but for once in 1.7 million. The same where q is low and where it is high.
    for chosen in (q >= 0.0, q < 0.5, q >= 0.5):
        error = np.sum(y[chosen] - q[chosen])
        assert abs(error) <= 5.0 * np.sqrt(np.sum(q[chosen] * (1.0 - q[chosen])))


def test_a_chaser_does_not_know_the_draws_of_a_forecaster_with_its_seed():
    rounds = 4000
    for seed in (0, 1, 7):
        ours = np.array([naive.adversary_draw(seed, t) for t in range(rounds)])
        theirs = np.array([naive.forecaster_draw(seed, t) for t in range(rounds)])
        # The correlation of independent draws is close to normal with sd 1/sqrt(rounds) = 0.016.
        assert abs(np.corrcoef(ours, theirs)[0, 1]) < 5.0 / np.sqrt(rounds)


@pytest.mark.parametrize(
    ("horizon", "level", "settings"),
    [
        (1000, 3, {}),
        (1000, 3, {"ratio": 2.0, "push": 1.0, "lead": 2.0}),
        (10_000, 5, {"ratio": 0.5, "push": 4.0, "lead": 0.0}),
        (50_000, 5, {"ratio": 30.0, "push": 0.0, "lead": 0.0}),
        (100_000, 6, {}),
    ],
)
def test_march_is_that_of_its_twin(horizon, level, settings):
    for seed in range(3):
        march = March(horizon, **settings)
        twin = NaiveMarch(level, march.ratio, march.push, march.lead)
        predictions, outcomes = twin.play(NaiveZoom(seed=seed), 4000)
        game = play(Zoom(seed=seed), march, 4000)
        assert game.outcomes.tolist() == outcomes
        assert game.predictions.tolist() == predictions


def test_march_loads_a_zoom_more_than_chance_does():
    for seed in range(3):
        game = play(Zoom(seed=seed), March(10_000), 10_000)
        outcomes = iid(10_000, seed=seed).outcomes
        stationary = cal2(Zoom(seed=seed).run(outcomes), outcomes)
        assert cal2(game.predictions, game.outcomes) > 2 * stationary


def test_march_makes_every_bet_lose():
    forecaster, march = Zoom(seed=1), March(5000)
    bets = 0
    for _ in range(5000):
        points, _ = forecaster.distribution()
        y = march.choose(forecaster)
        purse = forecaster._get_state()["purse"]
        march.observe(forecaster.predict(), y)
        forecaster.update(y)
        change = forecaster._get_state()["purse"] - purse
        if len(points) == 1 and change < 0:
            bets += 1
        assert change <= 0 or change == pytest.approx(0.5)  # what a cut grants
    assert bets > 10


def test_march_against_who_has_no_grid_is_contrarian():
    for make in (RunningMean, lambda seed: FosterHart(10, seed=seed)):
        assert same(play(make(seed=1), March(), 300), play(make(seed=1), Contrarian(), 300))


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="rounds must be an integer at least 0, got -1"):
        play(Zoom(), Contrarian(), -1)
    with pytest.raises(ValueError, match=r"forecaster must be one of calibrant's, got 3 \(int\)"):
        play(3, Contrarian(), 1)
    with pytest.raises(ValueError, match=r"adversary must be one of calibrant's, got None"):
        play(Zoom(), None, 1)
    with pytest.raises(ValueError, match="forecaster must be one of calibrant's"):
        Contrarian().choose("zoom")
    with pytest.raises(TypeError, match="must be one of calibrant's"):
        Adversary()


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (float("nan"), 1, r"prediction must be in \[0, 1\], got nan"),
        (1.1, 1, "prediction must be in"),
        ("x", 1, r"prediction must be a number in \[0, 1\], got 'x'"),
        (0.5, -0.1, r"outcome must be in \[0, 1\], got -0.1"),
        (0.5, None, "outcome must be a number"),
    ],
)
@pytest.mark.parametrize("adversary", MAKERS)
def test_bad_observations_change_nothing(adversary, p, y, message):
    one, other = MAKERS[adversary](0), MAKERS[adversary](0)
    with pytest.raises(ValueError, match=message):
        one.observe(p, y)
    assert one.rounds == 0
    assert same(play(Zoom(), one, 50), play(Zoom(), other, 50))


def test_two_threads_cannot_share_a_game():
    forecaster, adversary = Zoom(), Greedy("l2")
    game = threading.Thread(target=play, args=(forecaster, adversary, 3_000_000))
    game.start()
    refusals: list[str] = []
    # Both attempts keep the GIL, so that they cannot themselves be what the game runs into.
    attempts = [forecaster.predict, lambda: adversary.choose(Zoom())]
    while game.is_alive() and attempts:
        try:
            attempts[-1]()
        except RuntimeError as error:
            refusals.append(str(error))
            attempts.pop()
    game.join()
    assert [message.split(" in another thread")[0] for message in refusals] == [
        "this Greedy is in use by play()",
        "this Zoom is in use by another thread; give each thread its own forecaster",
    ]
    # Once the game is over, both are free again.
    assert len(play(forecaster, adversary, 10)) == 10


def test_the_table_names_every_adversary():
    assert set(ADVERSARIES.values()) == {
        *(Greedy, Contrarian, Chaser, March, Drag, Learned, SignPreservation),
    }
    assert repr(Greedy("l2")) == "Greedy(norm='l2')"
    assert repr(Chaser()) == "Chaser(step=0.001, start=0.5, seed=0)"
    assert repr(Contrarian()) == "Contrarian()"
    assert repr(March(99)) == "March(horizon=99, ratio=500.0, push=0.0, lead=0.0)"
