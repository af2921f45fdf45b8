"""Restarting against its slow reference, its history, and how small its error is."""

import math
from itertools import pairwise

import numpy as np
import pytest

from calibrant import Interval, Refined, Restarting
from calibrant.certificates import BASES, CERTIFIED_MEASURES, coefficients
from calibrant.forecasters import restarting
from calibrant.measures import cal1, cal2
from calibrant.streams.synthetic import alternating, corrupted, drift, iid, piecewise
from forecasters.epochs import run_beside
from naive.restarting import Restarting as RestartingTwin


def switching(number, rounds):
    """Return outcomes that jump between extremes, every 40 to 120 rounds."""
    random = np.random.default_rng([number, rounds])
    lengths = random.integers(40, 120, rounds // 40)
    means = np.repeat(np.arange(len(lengths)) % 2, lengths)[:rounds]
    return (random.random(rounds) < 0.05 + 0.9 * means).astype(float)


PAIRS = [(measure, base) for measure in CERTIFIED_MEASURES for base in BASES[measure]]


@pytest.mark.parametrize("number", range(48))
def test_agrees_with_its_twin(number, monkeypatch):
    """Draws, restarts, thresholds and errors, over measures, bases, constants and horizons.

    Half of the certificates are the tuned ones. The others are far too small, so that there are
    many restarts, and guesses of the deviation beyond the first, also with the paper's constants.
    """
    (measure, base), constants = PAIRS[number % 6], ("tuned", "paper")[number // 6 % 2]
    horizon = 1000 if base == "interval" else (None, 1000)[number // 12 % 2]
    U = coefficients(measure, base=base, delta=0.1)
    if constants == "paper" or base != "refined" or number // 24 % 2:
        U = (0.4, 0.0, 0.02, 0.0) if measure == "l1" else (1.0, 0.05, 0.2, 0.01)
    monkeypatch.setattr(restarting, "coefficients", lambda *_, **__: U)
    settings = {"base": base, "horizon": horizon, "delta": 0.1, "constants": constants}
    forecaster = Restarting(measure, **settings, seed=number)
    twin = RestartingTwin(measure, U, **settings)
    run_beside(forecaster, twin, lambda twin: twin.base.points, switching(number, 300))
    *closed, current = forecaster.history
    assert len(closed) == len(twin.history) > 0
    for record, (*row, error, threshold) in zip(closed, twin.history, strict=True):
        assert [*row] == [
            record.block,
            record.sub_block,
            record.sub_blocks,
            record.guess,
            record.start,
            record.end,
        ]
        assert record.error == pytest.approx(error, abs=1e-9)
        assert record.threshold == pytest.approx(threshold, rel=1e-12)
    assert twin.row(None) == (
        current.block,
        current.sub_block,
        current.sub_blocks,
        current.guess,
        current.start,
        current.end,
    )
    assert current.error == pytest.approx(twin.base.error(), abs=1e-9) == forecaster.error
    assert current.threshold == pytest.approx(twin.threshold(), rel=1e-12)


def test_the_twins_reached_what_they_are_for(monkeypatch):
    """The small certificates lead to sub-blocks that assume a deviation, and to later blocks."""
    monkeypatch.setattr(restarting, "coefficients", lambda *_, **__: (1.0, 0.05, 0.2, 0.01))
    forecaster = Restarting(seed=5)
    forecaster.run(switching(5, 300))
    assert {record.guess for record in forecaster.history} >= {0.0, 8.0}
    assert forecaster.history[-1].block >= 2


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_the_history_is_whole(measure):
    """Rows follow one another without a gap; each error has just passed its threshold."""
    outcomes = piecewise(20_000, levels=[0.1, 0.8, 0.3, 0.95], seed=3).outcomes
    forecaster = Restarting(measure, seed=3)
    steps = []
    for part in np.split(outcomes, 400):
        forecaster.run(part)
        steps.append(forecaster.history)
    history = steps[-1]
    assert len(history) > 3
    assert history[0].start == 0
    assert [record.end for record in history[:-1]] == [record.start for record in history[1:]]
    assert history[-1].end is None
    assert forecaster.forgotten == 0
    for record in history[:-1]:
        assert record.error > record.threshold
        # Before the last round the threshold held, and no round adds more than this: Cal1, and n
        # times a square or a divergence, grow by at most the loss of the round.
        assert record.error <= record.threshold + (math.log(2**17) if measure == "pseudo_kl" else 1)
    for before in steps:
        assert before[-1].error <= before[-1].threshold
        assert before[:-1] == history[: len(before) - 1]
    for record in history:
        assert 1 <= record.sub_block <= record.sub_blocks
        assert record.guess == (8.0**record.block if record.sub_block == record.sub_blocks else 0)


def test_the_current_row_holds_what_refined_would_say():
    """Up to the first restart it is Refined, draw for draw, and after it a new one."""
    outcomes = iid(5000, mean=0.3, seed=8).outcomes
    forecaster, alone = Restarting(seed=8), Refined(seed=8)
    assert forecaster.run(outcomes).tolist() == alone.run(outcomes).tolist()
    assert (forecaster.history[-1].error, forecaster.epoch) == (alone.error, alone.epoch)


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_restarts_follow_changes(measure):
    """A restart within 2,000 rounds of each change, and hardly any elsewhere."""
    changes = (10_000, 20_000)
    for seed in range(10):
        outcomes = piecewise(30_000, levels=[0.2, 0.7, 0.4], seed=seed).outcomes
        forecaster = Restarting(measure, seed=seed)
        forecaster.run(outcomes)
        starts = [record.start for record in forecaster.history[1:]]
        for change in changes:
            assert any(change < start <= change + 2000 for start in starts), (seed, starts)
        assert len(starts) <= 4, (seed, starts)


def test_old_rows_are_forgotten_and_counted(monkeypatch):
    """A certificate that every round passes: rows pile up to 4096 and no further."""
    monkeypatch.setattr(restarting, "coefficients", lambda *_, **__: (0.2, 0.0, 0.0, 0.0))
    outcomes = alternating(11_000).outcomes
    forecaster = Restarting(seed=1)
    forecaster.run(outcomes[:5_000])
    early = forecaster.history
    blob = forecaster.to_bytes()
    forecaster.run(outcomes[5_000:])
    history = forecaster.history
    assert len(early) == len(history) == 4097
    assert forecaster.forgotten == 11_000 - 4096
    assert [record.end for record in history[:-1]] == [record.start for record in history[1:]]
    restored = Restarting.from_bytes(blob)
    assert restored.history == early
    restored.run(outcomes[5_000:])
    assert restored.history == history
    assert restored.forgotten == forecaster.forgotten


def mean_error(stream_for, error=cal2, **arguments):
    errors = []
    for seed in range(20):
        outcomes = stream_for(seed).outcomes
        errors.append(error(Restarting(seed=seed, **arguments).run(outcomes), outcomes))
    return np.mean(errors)


T = 100_000


# As for Refined: limits at least three standard errors above the mean measured on these seeds.
@pytest.mark.parametrize(
    ("stream_for", "limit"),
    [
        (lambda seed: iid(T, mean=0.5, seed=seed), 13.5),  # 10.5 +- 1.0
        (lambda seed: iid(T, mean=0.05, seed=seed), 2.5),  # 2.0 +- 0.14
        (lambda seed: piecewise(T, segments=2, seed=seed), 27),  # 24.1 +- 0.8
        (lambda seed: piecewise(T, segments=5, seed=seed), 82),  # 75.2 +- 2.1
        (lambda seed: drift(T, seed=seed), 180),  # 172 +- 2.3
        # 10,000 rounds of ones
        (
            lambda seed: corrupted(T, budget=7000, mean=0.3, shape="burst", seed=seed),
            41.5,  # 39.0 +- 0.7
        ),
    ],
    ids=["steady", "rare", "two segments", "five segments", "drift", "burst"],
)
def test_cal2(stream_for, limit):
    assert mean_error(stream_for) <= limit


def test_cal1():
    """On five segments, 2309 +- 64."""
    error = mean_error(lambda seed: piecewise(T, segments=5, seed=seed), cal1, measure="l1")
    assert error <= 2510


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_the_printed_constants_never_restart_at_real_horizons(measure):
    forecaster = Restarting(measure, horizon=20_000, constants="paper")
    forecaster.run(alternating(20_000, every=1000).outcomes)
    assert len(forecaster.history) == 1


def test_the_base_swap_is_refined_for_pseudo_l2_watched_by_cal2():
    """The same draws until a restart; the error is that of the predictions, not of P_t."""
    outcomes = iid(2 + 4 + 8 + 16 + 32 + 64 + 128, mean=0.3, seed=8).outcomes
    forecaster, alone = Restarting("l2", base="swap", seed=8), Refined("pseudo_l2", seed=8)
    predictions = forecaster.run(outcomes)
    assert predictions.tolist() == alone.run(outcomes).tolist()
    starts = [2**m - 2 for m in range(1, 9)]
    parts = [slice(*ends) for ends in pairwise(starts)]
    total = sum(cal2(predictions[part], outcomes[part]) for part in parts)
    assert forecaster.error == pytest.approx(total, abs=1e-9)
    assert forecaster.error != pytest.approx(alone.error, rel=1e-3)


def test_equal_intervals_are_interval_until_a_restart():
    outcomes = iid(3000, mean=0.3, seed=8).outcomes
    forecaster = Restarting("l1", base="interval", horizon=3000, seed=8)
    alone = Interval.for_deviation(0, 3000, seed=8)
    predictions = forecaster.run(outcomes)
    assert len(forecaster.history) == 1
    assert predictions.tolist() == alone.run(outcomes).tolist()
    assert forecaster.error == pytest.approx(cal1(predictions, outcomes), abs=1e-9)
