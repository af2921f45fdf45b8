import math

import pytest
from hypothesis import given

from calibrant.measures import brier, cal2, klcal, log_loss, murphy, murphy_log
from measures.strategies import repeatable, rounds
from naive import measures as naive


@given(data=rounds(low=1))
@repeatable
def test_losses_equal_the_definition(data):
    assert brier(*data) == pytest.approx(naive.brier(*data), abs=1e-12)
    assert log_loss(*data) == pytest.approx(naive.log_loss(*data), rel=1e-9, abs=1e-12)


@given(data=rounds(low=1))
@repeatable
def test_murphy_sums_to_brier(data):
    parts = murphy(*data)
    assert parts.loss == pytest.approx(brier(*data), abs=1e-12)
    assert parts.reliability == pytest.approx(cal2(*data) / len(data[0]), abs=1e-12)
    assert 0.0 <= parts.resolution <= parts.uncertainty + 1e-12
    mean = sum(data[1]) / len(data[1])
    assert parts.uncertainty <= mean * (1 - mean) + 1e-12  # with equality for 0 and 1 only


@given(data=rounds(low=1))
@repeatable
def test_murphy_log_sums_to_log_loss(data):
    parts = murphy_log(*data)
    assert parts.loss == pytest.approx(log_loss(*data), rel=1e-9, abs=1e-12)
    assert parts.reliability == pytest.approx(klcal(*data) / len(data[0]), rel=1e-9, abs=1e-12)
    assert 0.0 <= parts.resolution <= parts.uncertainty + 1e-12


def test_resolution_from_its_definition():
    # Two predictions with rates 1/4 and 3/4 over halves of eight rounds; the mean is 1/2.
    data = [0.1] * 4 + [0.9] * 4, [1, 0, 0, 0, 1, 1, 1, 0]
    assert murphy(*data).resolution == pytest.approx(1 / 16)
    assert murphy(*data).uncertainty == 0.25
    rate_kl = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert murphy_log(*data).resolution == pytest.approx(rate_kl)
    assert murphy_log(*data).uncertainty == pytest.approx(math.log(2))


def test_fractional_outcomes_vary_less():
    # All outcomes are 1/2: nothing is uncertain to the squared loss, all is to the log loss.
    assert murphy([0.5, 0.5], [0.5, 0.5]) == (0.0, 0.0, 0.0)
    assert murphy_log([0.5, 0.5], [0.5, 0.5]) == pytest.approx((0.0, 0.0, math.log(2)))


def test_the_impossible_costs_everything():
    assert log_loss([0.0, 0.5], [0, 1]) == pytest.approx(math.log(2) / 2)
    assert log_loss([0.0, 0.5], [1, 1]) == math.inf
    assert murphy_log([0.0, 0.5], [1, 1]).loss == math.inf


def test_a_mean_that_rounds_to_one_stays_finite():
    parts = murphy_log([0.5, 0.25, 0.5], [1.0, 1.0 - 2**-53, 1.0])
    assert parts.resolution == 0.0
    assert math.isfinite(parts.loss)
