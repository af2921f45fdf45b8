import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.measures import Scorecard, debiased_ece2, ece
from measures.strategies import repeatable, rounds
from naive import measures as naive

counts = st.integers(1, 30)


def bin_function(scheme, predictions, bins):
    if scheme == "width":
        return partial(naive.width_bin, bins=bins)
    return partial(naive.mass_bin, predictions=predictions, bins=bins)


@pytest.mark.parametrize("scheme", ["width", "mass"])
@pytest.mark.parametrize("norm", [1, 2])
@given(data=rounds(low=1), bins=counts)
@repeatable
def test_equals_the_definition(scheme, norm, data, bins):
    expected = naive.ece(*data, bin_function(scheme, data[0], bins), norm)
    got = ece(*data, bins=bins, scheme=scheme, norm=norm)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert 0.0 <= got <= 1.0


def test_the_default_is_what_tables_and_pages_call_it():
    """They say "ECE, 20 bins"."""
    predicted, happened = np.linspace(0.0, 1.0, 200), np.arange(200) % 2.0
    assert (
        ece(predicted, happened)
        == ece(predicted, happened, bins=20)
        != ece(predicted, happened, bins=19)
    )
    card = Scorecard()
    card.extend(predicted, happened)
    assert card.ece == pytest.approx(ece(predicted, happened))


@pytest.mark.parametrize("scheme", ["width", "mass"])
@given(data=rounds(low=1), bins=counts)
@repeatable
def test_debiased_takes_the_variance_of_each_mean(scheme, data, bins):
    expected = 0.0
    for group in naive.binned(*data, bin_function(scheme, data[0], bins)):
        n = len(group)
        if n > 1:
            mean = math.fsum(group) / n
            variance = math.fsum((r - mean) ** 2 for r in group) / (n - 1)
            expected += n / len(data[0]) * (mean**2 - variance / n)
    assert debiased_ece2(*data, bins=bins, scheme=scheme) == pytest.approx(expected, abs=1e-9)


def test_one_prediction_a_bin_gives_the_published_estimator():
    outcomes = np.array([1] * 30 + [0] * 10)
    rho = 0.75
    expected = (0.6 - rho) ** 2 - rho * (1 - rho) / 39
    assert debiased_ece2(np.full(40, 0.6), outcomes) == pytest.approx(expected)


def test_debiased_has_no_bias_and_the_plain_square_has():
    # Perfect calibration with p = 0.5, 0.3: the truth is 0. The plain square has mean
    # sum w p(1-p)/n = (0.25 + 0.21) / 2 / 50 = 0.0046. Each of 4000 trials of the debiased one
    # has standard deviation below 0.0065 (0.0046 * sqrt(2) for two bins' chi-squares), so four
    # standard errors are 4 * 0.0065 / sqrt(4000) = 0.00041.
    rng = np.random.default_rng(7)
    predictions = np.repeat([0.5, 0.3], 50)
    debiased, plain = [], []
    for _ in range(4000):
        outcomes = rng.random(100) < predictions
        debiased.append(debiased_ece2(predictions, outcomes))
        plain.append(ece(predictions, outcomes, norm=2) ** 2)
    assert abs(np.mean(debiased)) < 0.00041
    assert np.mean(plain) > 0.004


def test_the_ends_have_real_bins():
    # Two bins: 0 belongs to the first, 1 to the last, 1/2 to the second.
    assert ece([0.0, 0.4], [0.4, 0.0], bins=2) == 0.0
    assert ece([1.0, 0.5], [0.5, 1.0], bins=2) == 0.0
    assert ece([0.5, 0.4], [0.4, 0.5], bins=2) == pytest.approx(0.1)


@pytest.mark.parametrize("bins", [3, 7, 10, 100])
def test_an_edge_starts_its_bin(bins):
    # p * bins rounds across an edge for some of these, 0.29 * 100 for one. Opposite residuals
    # cancel when they meet in a bin.
    for i in range(1, bins):
        edge = i / bins
        residual = min(edge, 1.0 - edge) / 2
        below, above = np.nextafter(edge, 0.0), np.nextafter(edge, 1.0)
        outcomes = [edge + residual, edge - residual]
        assert ece([edge, below], outcomes, bins=bins) == pytest.approx(residual)
        assert ece([edge, above], outcomes, bins=bins) == pytest.approx(0.0, abs=1e-12)


def test_equal_mass_bins_are_equal():
    predictions = np.arange(100) / 100
    outcomes = np.where(np.arange(100) % 25 < 12, 1.0, 0.0)
    expected = np.mean(
        [abs(np.mean((outcomes - predictions)[i : i + 25])) for i in (0, 25, 50, 75)]
    )
    assert ece(predictions, outcomes, bins=4, scheme="mass") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins must be an integer at least 1, got 0"),
        ({"bins": 2.5}, "bins must be an integer"),
        ({"scheme": "weight"}, "scheme must be one of 'width', 'mass'"),
        ({"norm": 3}, "norm must be 1 or 2"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        ece([0.5], [1], **options)
