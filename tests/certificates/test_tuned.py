"""The measured certificates: the shipped table, what it promises, and how it is measured."""

import math

import numpy as np
import pytest

from calibrant import Refined
from calibrant._kernels.certify import running_errors
from calibrant.certificates import MEASURES, certificate, coefficients
from calibrant.certificates.tuned import table
from calibrant.experiments.certificates import (
    LEVELS,
    SLOPES,
    excess,
    lowest_line,
    need,
    plan_drifting,
    plan_steady,
    total_rounds,
    tune,
    upper_quantile,
)
from calibrant.experiments.worlds import WORLDS

MEANS = (0.01, 0.1, 0.5, 0.9)
DELTA = 0.05


def thresholds(measure, rounds, delta=DELTA):
    """U(n, 0) for n = 1 .. rounds, all at once."""
    c0, c1, _, _ = coefficients(measure, delta=delta)
    n = np.arange(1, rounds + 1)
    return c0 * np.sqrt(n) if measure == "l1" else c0 + c1 * np.log2(n + 1)


def errors_of(measure, means, seed):
    y = np.random.default_rng([99, seed]).random(len(means)) < means
    return running_errors(Refined(measure, seed=seed), y)


@pytest.mark.parametrize("measure", MEASURES)
def test_running_errors_are_the_forecasters_own(measure):
    y = np.random.default_rng(4).random(300) < 0.3
    forecaster, expected = Refined(measure, seed=2), []
    for outcome in y:
        forecaster.update(outcome)
        expected.append(forecaster.error)
    assert running_errors(Refined(measure, seed=2), y).tolist() == expected


def test_running_errors_refuse_bad_outcomes():
    forecaster = Refined()
    with pytest.raises(ValueError, match="position 1"):
        running_errors(forecaster, [0, 2])
    assert forecaster.rounds == 0


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("measure", MEASURES)
def test_stationarity_passes_a_certificate_in_at_most_delta_of_runs(measure, mean):
    """At some n from 100 on, up to 10,000 in most runs and 100,000 in some.

    If a run passes with probability at most 0.05, at most 13 of 100 do, except with probability
    P(Bin(100, 0.05) >= 14) < 0.0005, which is 0.008 over all 16 cases; the seeds are fixed.
    """
    passed = 0
    for seed in range(100):
        rounds = 100_000 if seed < 10 else 10_000
        errors = errors_of(measure, np.full(rounds, mean), seed)
        passed += bool((errors > thresholds(measure, rounds))[99:].any())
    assert passed <= 13


@pytest.mark.parametrize("measure", MEASURES)
def test_a_shift_is_flagged(measure):
    """0.5 turns into 0.8 after 50,000 rounds: flagged within 10,000 in at least 95 % of runs.

    If it is missed with probability at most 0.05, no more than 4 of 20 are, except with
    probability P(Bin(20, 0.05) >= 5) < 0.003.
    """
    U = thresholds(measure, 60_000)
    means = np.repeat([0.5, 0.8], [50_000, 10_000])
    flagged = 0
    for seed in range(20):
        after = (errors_of(measure, means, seed) > U)[50_000:]
        flagged += bool(after.any())
    assert flagged >= 16


def test_the_shipped_table():
    shipped = table()
    assert shipped["schema"] == 1
    assert {"calibrant", "runs", "rounds", "confidence"} <= set(shipped["measured"])
    assert tuple(shipped["measures"]) == MEASURES
    for measure, row in shipped["measures"].items():
        assert row["slope"] == SLOPES[measure]
        assert row["per_log"] >= 0
        assert row["deviation"] >= row["deviation_needed"] > 0
        assert row["worst_world"].partition(",")[0] in WORLDS
        assert list(row["quantiles"]) == [str(level) for level in LEVELS]
        for level, quantile in row["quantiles"].items():
            assert row["start"] + row["per_log"] * math.log(1 / float(level)) >= quantile - 1e-4
        assert certificate(measure, 1, delta=1.0) >= 0


def test_upper_quantile_is_an_upper_bound_in_95_percent_of_samples():
    """P(short of the true quantile) <= 0.05: at most 139 of 2000, by four standard deviations.

    0.05 * 2000 = 100 and sqrt(2000 * 0.05 * 0.95) = 9.7, so 100 + 4 * 9.7 < 139.
    """
    rng = np.random.default_rng(8)
    for runs, delta in ((100, 0.05), (300, 0.02), (60, 0.2)):
        short = sum(upper_quantile(rng.random(runs), delta) < 1 - delta for _ in range(2000))
        assert 0 < short <= 139


def test_upper_quantile_needs_enough_runs():
    assert upper_quantile(range(58), 0.05) is None  # 0.95^58 = 0.051
    assert upper_quantile(range(59), 0.05) == 58


def test_lowest_line_lies_above_and_touches():
    rng = np.random.default_rng(9)
    for _ in range(50):
        x = np.sort(rng.random(6)).tolist()
        y = (rng.random(6) + x).tolist()
        start, slope = lowest_line(list(zip(x, y, strict=True)))
        gaps = [start + slope * u - v for u, v in zip(x, y, strict=True)]
        assert slope >= 0
        assert min(gaps) == pytest.approx(0, abs=1e-9)
    assert lowest_line([(0.0, 3.0), (1.0, 1.0)]) == (3.0, 0.0)


@pytest.mark.parametrize("measure", MEASURES)
def test_excess_and_need_are_what_a_certificate_must_cover(measure):
    errors = np.random.default_rng(1).random(200).cumsum()
    U = coefficients(measure)
    d0 = need(measure, errors, U, 8.0)
    covering = U._replace(d0=d0 + 1e-9)
    short = U._replace(d0=d0 - 1e-6)
    n = range(1, 201)
    assert all(errors[k - 1] <= covering.bound(measure, k, 8.0) for k in n)
    assert any(errors[k - 1] > short.bound(measure, k, 8.0) for k in n)
    steady = U._replace(c0=excess(measure, errors) + 1e-9, c1=SLOPES[measure])
    assert all(errors[k - 1] <= steady.bound(measure, k, 0.0) for k in n)


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_have_the_deviation_they_are_asked_for(world):
    for T, C in ((400, 8.0), (1000, 64.0), (1000, 512.0)):
        means = WORLDS[world](T, C, np.random.default_rng(0))
        assert len(means) == T
        assert ((means >= 0) & (means <= 1)).all()
        found = np.abs(means - np.median(means)).sum()  # the median is the nearest value
        assert found <= C + 1
        if world != "steady" and C < T / 3:
            assert found >= 0.9 * C - 1


def test_the_plan_is_what_is_played():
    played = []
    one = tune(runs=60, rounds=100, workers=1, advance=played.append)
    assert sum(played) == total_rounds(60, 100)
    assert one == tune(runs=60, rounds=100, workers=2)
    assert {b.rounds for b in plan_steady(60, 100)} == {100, 1000}
    assert all(b.deviation <= b.rounds / 2 for b in plan_drifting(60, 100))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"runs": 59}, "runs"), ({"rounds": 99}, "rounds"), ({"workers": -1}, "workers")],
)
def test_tune_refuses(arguments, word):
    with pytest.raises(ValueError, match=f"{word} must be an integer"):
        tune(**arguments)
