"""The lemmas behind Restarting: how many blocks there are, and how many tests fail.

They hold on the event that no certificate is passed where it covers the world. The tuned
certificates promise that with probability 1 - delta for each sub-block, delta = 0.05.
"""

import math

import pytest

from calibrant import Restarting
from calibrant.certificates import Coefficients, coefficients
from calibrant.forecasters import restarting
from calibrant.streams import drift, piecewise

T = 20_000
SEEDS = 10


def blocks_allowed(C):
    """Return ceil(log_8(8 + C)) of Lemma `bound_block_reduction`."""
    return math.ceil(math.log(8 + C, 8) - 1e-12)


def most_in(n, chance):
    """Return what a binomial count of n passes with probability below 1e-3."""
    k, below = 0, (1 - chance) ** n
    while below < 0.999:
        k += 1
        below += math.comb(n, k) * chance**k * (1 - chance) ** (n - k)
    return k


def false_ends(history, changes):
    """Return the tests of stationarity that failed although they saw no change."""
    return [
        part
        for part in history[:-1]
        if part.guess == 0.0 and not any(part.start < change < part.end for change in changes)
    ]


@pytest.mark.parametrize("measure", ["l1", "l2", "pseudo_kl"])
@pytest.mark.parametrize("K", [1, 2, 5, 20])
def test_failed_tests_are_fewer_than_segments(measure, K):
    """Lemmas `piecewise_KTbound_...`: each that fails saw a change, and no two the same one."""
    wrong = tests = 0
    changes = [T * k // K for k in range(1, K)]
    for seed in range(SEEDS):
        stream = piecewise(T, segments=K, seed=seed)
        forecaster = Restarting(measure, seed=seed)
        forecaster.run(stream.outcomes)
        failed = [part for part in forecaster.history[:-1] if part.guess == 0.0]
        false = false_ends(forecaster.history, changes)
        assert len(failed) - len(false) <= K - 1
        wrong, tests = wrong + len(false), tests + len(failed) + 1
    assert wrong <= most_in(tests, 0.05)


@pytest.mark.parametrize("measure", ["l1", "l2", "pseudo_kl"])
@pytest.mark.parametrize("C", [10, 100, 1000, 4000])
def test_blocks_are_no_more_than_the_deviation_demands(measure, C):
    """Lemma `bound_block_reduction`, on the drift that is as high as it can be."""
    more = 0
    for seed in range(SEEDS):
        stream = drift(T, amplitude=0.4, periods=2, share=C / (0.8 / math.pi) / T, seed=seed)
        assert stream.deviation == pytest.approx(C, rel=0.05)
        forecaster = Restarting(measure, seed=seed)
        forecaster.run(stream.outcomes)
        more += forecaster.history[-1].block > blocks_allowed(stream.deviation)
    assert more <= most_in(SEEDS, 0.05)


def test_certificates_that_promise_too_much_break_both(monkeypatch):
    """So that the two tests above can fail."""
    c0, c1, _, _ = coefficients("l2")
    small = Coefficients(0.25 * c0, 0.25 * c1, 0.5, 0.0)
    monkeypatch.setattr(restarting, "coefficients", lambda *_, **__: small)
    wrong = blocks = 0
    for seed in range(SEEDS):
        forecaster = Restarting("l2", seed=seed)
        forecaster.run(piecewise(T, segments=1, seed=seed).outcomes)
        wrong += len(false_ends(forecaster.history, []))
        stream = drift(T, amplitude=0.4, periods=2, share=10 / (0.8 / math.pi) / T, seed=seed)
        forecaster = Restarting("l2", seed=seed)
        forecaster.run(stream.outcomes)
        blocks += forecaster.history[-1].block > blocks_allowed(stream.deviation)
    assert wrong > most_in(2 * SEEDS, 0.05)
    assert blocks > most_in(SEEDS, 0.05)
