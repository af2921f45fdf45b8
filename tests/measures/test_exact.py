import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.measures import Distributions, cal1, cal2, klcal, pcal2, pklcal
from measures.strategies import distribution, outcomes, repeatable, rounds
from naive import measures as naive

# Residuals are differences of numbers below 30, so rounding is a few units of 30 * 2^-52.
CLOSE = {"rel": 1e-9, "abs": 1e-12}


@pytest.mark.parametrize("name", ["cal1", "cal2", "klcal"])
@given(data=rounds())
@repeatable
def test_equals_the_definition(name, data):
    fast = {"cal1": cal1, "cal2": cal2, "klcal": klcal}[name](*data)
    assert fast == pytest.approx(getattr(naive, name)(*data), **CLOSE)


@pytest.mark.parametrize("p", [5e-324, 1e-300, 1e-17, 0.1, 1 - 2**-53])
@pytest.mark.parametrize("y", [0.0, 5e-324, 1e-20, 1.0])
def test_klcal_keeps_its_digits_at_the_ends(p, y):
    predictions, outcomes = [p] * 3, [y, y, 0.0]
    expected = naive.klcal(predictions, outcomes)
    assert klcal(predictions, outcomes) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_klcal_keeps_its_digits_when_almost_calibrated():
    # A million rounds, one outcome off: KL is 2e-12 a round, far below 2^-52 of the terms' sizes.
    outcomes = np.zeros(1_000_000)
    outcomes[:500_001] = 1.0
    exact = 2_000_000 * 1e-12  # n * 2 d^2 with d = 1e-6; the next term is of order n d^4
    assert klcal(np.full(1_000_000, 0.5), outcomes) == pytest.approx(exact, rel=1e-6)


def test_klcal_is_infinite_only_where_the_impossible_happened():
    assert klcal([0.0, 0.0, 1.0], [0, 0, 1]) == 0.0
    assert klcal([0.0, 0.5], [1e-9, 1]) == math.inf
    assert klcal([1.0], [0.5]) == math.inf


def test_both_zeros_are_one_prediction():
    assert cal1([0.0, -0.0], [1, 1]) == 2.0
    assert cal2([0.0, -0.0, 0.5, 0.5], [1, 0, 1, 0]) == 0.5


def test_no_rounds_have_no_error():
    assert cal1([], []) == cal2([], []) == klcal([], []) == pcal2([], []) == pklcal([], []) == 0.0


trials = st.lists(st.tuples(distribution(), outcomes), max_size=15).map(
    lambda rows: ([pair for pair, _ in rows], [y for _, y in rows])
)


@given(data=trials)
@repeatable
def test_pseudo_errors_equal_the_definition(data):
    flat = naive.flat(*data)
    assert pcal2(*data) == pytest.approx(naive.cal2(*flat), **CLOSE)
    assert pklcal(*data) == pytest.approx(naive.klcal(*flat), **CLOSE)
    as_arrays = Distributions.from_pairs(data[0])
    assert pcal2(as_arrays, data[1]) == pcal2(*data)


@given(data=rounds())
@repeatable
def test_without_randomness_pseudo_errors_are_the_errors(data):
    certain = [([p], [1.0]) for p in data[0]]
    assert pcal2(certain, data[1]) == pytest.approx(cal2(*data), **CLOSE)
    assert pklcal(certain, data[1]) == pytest.approx(klcal(*data), **CLOSE)


def split(data, sides):
    """Return the rounds of each side."""
    parts = [[], []]
    for row, side in zip(zip(*data, strict=True), sides, strict=False):
        parts[side].append(row)
    return [([a for a, _ in part], [b for _, b in part]) for part in parts]


sides_of_time = st.lists(st.integers(0, 1), min_size=25, max_size=25)


@pytest.mark.parametrize("measure", [cal1, cal2, klcal])
@given(data=rounds(), sides=sides_of_time)
@repeatable
def test_errors_are_subadditive(measure, data, sides):
    assert measure(*data) <= sum(measure(*part) for part in split(data, sides)) + 1e-9


@pytest.mark.parametrize("measure", [pcal2, pklcal])
@given(data=trials, sides=sides_of_time)
@repeatable
def test_pseudo_errors_are_subadditive(measure, data, sides):
    assert measure(*data) <= sum(measure(*part) for part in split(data, sides)) + 1e-9


@given(data=rounds(low=1))
@repeatable
def test_pinsker_and_cauchy_schwarz(data):
    assert 2 * cal2(*data) <= klcal(*data) + 1e-9
    assert cal1(*data) <= math.sqrt(len(data[0]) * cal2(*data)) + 1e-9


@given(data=trials)
@repeatable
def test_pinsker_for_pseudo_errors(data):
    assert 2 * pcal2(*data) <= pklcal(*data) + 1e-9


def test_pinskers_constant_is_the_best():
    # KL(1/2 + d, 1/2) = 2 d^2 + O(d^4): no constant above 2 holds.
    data = [0.5] * 1000, [1] * 501 + [0] * 499
    assert klcal(*data) / cal2(*data) == pytest.approx(2.0, rel=1e-5)
