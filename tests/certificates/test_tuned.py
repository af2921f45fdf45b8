"""The measured certificates: the shipped table and what it promises."""

import math

import numpy as np
import pytest

from benchmarks.tune import CERTIFICATES, LEVELS, SLOPES, running_errors
from benchmarks.worlds import WORLDS
from calibrant import Refined
from calibrant.certificates import CERTIFIED_MEASURES, certificate, coefficients
from calibrant.certificates.form import tuned_table

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


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_stationarity_passes_a_certificate_in_at_most_delta_of_runs(measure, mean):
    """At some n from 100 on, up to 5,000 in most runs and 100,000 in some.

    If a run passes with probability at most 0.05, at most 13 of 100 do, except with probability
    P(Bin(100, 0.05) >= 14) < 0.0005, which is 0.008 over all 16 cases; the seeds are fixed.
    """
    passed = 0
    for seed in range(100):
        rounds = 100_000 if seed < 3 else 5_000
        errors = errors_of(measure, np.full(rounds, mean), seed)
        passed += bool((errors > thresholds(measure, rounds))[99:].any())
    assert passed <= 13


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_a_shift_is_flagged(measure):
    """0.5 turns into 0.8 after 50,000 rounds: flagged within 10,000 in at least 95% of runs.

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
    shipped = tuned_table()
    assert shipped["schema"] == 1
    assert {"calibrant", "runs", "rounds", "confidence"} <= set(shipped["measured"])
    assert tuple(shipped["measures"]) == (*CERTIFIED_MEASURES, "l1-interval", "l2-swap")
    for name, row in shipped["measures"].items():
        measure, base = CERTIFICATES[name]
        assert row["slope"] == SLOPES[measure]
        assert row["per_log"] >= 0
        assert row["deviation"] >= row["deviation_needed"] >= 0
        # On equal intervals what a stationary world needs is enough for the others.
        assert (row["worst_world"].partition(",")[0] in WORLDS) == (name != "l1-interval")
        assert list(row["quantiles"]) == [str(level) for level in LEVELS]
        for level, quantile in row["quantiles"].items():
            assert row["start"] + row["per_log"] * math.log(1 / float(level)) >= quantile
        assert certificate(measure, 1, base=base, delta=1.0) >= 0
