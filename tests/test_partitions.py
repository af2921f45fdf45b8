"""Partitions against the paper's brackets; every point in exactly one interval, however cut."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.partitions import Partition, refined, uniform
from naive.partitions import refined as refined_twin
from naive.partitions import unif_part

fixed = settings(derandomize=True, deadline=None, max_examples=400)

# Multiples of 1/1024, and intervals that are powers of two: floats are exact and so are brackets.
dyadic = st.integers(0, 1024).map(lambda k: k / 1024)
powers = st.integers(0, 3).map(lambda k: 2**k)
counts = st.integers(1, 12)
radii = st.one_of(
    st.sampled_from([0.0, 5e-324, 1e-300, 1e-20, 1e-16, 1e-15, 1e-9, 0.5, 1.0, 1e9, math.inf]),
    st.floats(0, 1),
)


@st.composite
def domains(draw):
    """Draw a domain and two ends in it, some of them a few floats apart."""
    domain = draw(st.sampled_from(["p", "theta"]))
    most = 1.0 if domain == "p" else math.pi
    low = draw(st.one_of(st.sampled_from([0.0, most / 2]), st.floats(0, most - 1e-15)))
    high = draw(st.sampled_from([most, low + 1e-15, (low + most) / 2]))
    return domain, low, high


@st.composite
def refinements(draw):
    """Draw a partition of the kind the frameworks build, degenerate ones included."""
    domain, low, high = draw(domains())
    centre = draw(st.one_of(st.sampled_from([low, high]), st.floats(low, high)))
    radius = draw(radii)
    inner, per_band, anchored = draw(counts), draw(counts), draw(st.booleans())
    cut = refined(
        centre, radius, inner, per_band, low=low, high=high, domain=domain, anchored=anchored
    )
    return cut, low, high, centre, radius, inner, per_band, anchored


def intervals_holding(cut, x):
    """Return all intervals that hold x by the rule of the turn, looking at each."""
    found = []
    for i in range(len(cut)):
        low, high = cut.edges[i], cut.edges[i + 1]
        holds_low = i == 0 or i < cut.turn
        holds_high = i + 1 == len(cut) or i + 1 >= cut.turn
        if low < x < high or (x == low and holds_low) or (x == high and holds_high):
            found.append(i)
    return found


def places_around(edges):
    """Return every edge, the floats beside it, and the middle of every interval."""
    edges = np.array(edges)
    places = np.concatenate(
        [edges, np.nextafter(edges, 9), np.nextafter(edges, -9), (edges[1:] + edges[:-1]) / 2]
    )
    return places[(places >= edges[0]) & (places <= edges[-1])].tolist()


@fixed
@given(refinements())
def test_bands_cover_the_domain_and_no_point_is_in_two_intervals(case):
    cut, low, high, *_ = case
    assert cut.edges[0] == low
    assert cut.edges[-1] == high
    assert (np.diff(cut.edges) > 0).all()
    places = places_around(cut.edges)
    for x in places[:: max(1, len(places) // 60)]:
        assert intervals_holding(cut, x) == [cut.locate(x)]


@fixed
@given(refinements())
def test_intervals_are_as_fine_as_the_paper_needs(case):
    """Inner intervals have width 4r/N at most; outer ones, their distance to centre +- r over B.

    The latter is Lemmas `bound4_DeltaJ_abs_gap_Cal2` and `bound4_DeltaJ_abs_gap`: p* is within r of
    the centre.
    """
    cut, low, high, centre, radius, inner, per_band, anchored = case
    r = max(radius, 2.0**-52 * (high - low))
    rounding = 8 * np.spacing(high)
    # A side that the domain cuts off leaves its half of the anchored intervals to the other.
    finest = 2 * r / -(-inner // 2) if anchored else 4 * r / inner
    for left, right in zip(cut.edges[:-1], cut.edges[1:], strict=True):
        if left >= centre - 2 * r - rounding and right <= centre + 2 * r + rounding:
            assert right - left <= finest + rounding
        else:
            distance = max(left - (centre + r), (centre - r) - right)
            assert right - left <= distance / per_band + rounding
    assert not anchored or centre in cut.edges


@settings(fixed, max_examples=50)
@given(dyadic, st.integers(1, 300).map(lambda k: k / 1024), powers, powers)
def test_agrees_with_the_brackets_of_the_paper(centre, radius, inner, per_band):
    cut = refined(centre, radius, inner, per_band)
    twin = refined_twin(centre, radius, inner, per_band, low=0, high=1)
    assert [Fraction(x) for x in cut.edges] == [twin[0].low, *(J.high for J in twin)]
    for x in places_around(cut.edges):
        assert [i for i, J in enumerate(twin) if J.holds(Fraction(x))] == [cut.locate(x)]


@fixed
@given(dyadic, dyadic, powers)
def test_uniform_agrees_with_unif_part(x, y, intervals):
    low, high = min(x, y), max(x, y)
    if low == high:
        return
    cut = uniform(intervals, low, high)
    twin = unif_part(Fraction(low), Fraction(high), intervals, True, True)
    assert [Fraction(x) for x in cut.edges] == [twin[0].low, *(J.high for J in twin)]
    for place in places_around(cut.edges):
        assert [J.holds(Fraction(place)) for J in twin].index(True) == cut.locate(place)


@pytest.mark.parametrize("intervals", [1, 2, 3, 7, 49, 200, 1000])
@pytest.mark.parametrize("domain", ["p", "theta"])
def test_uniform_intervals_are_equal(intervals, domain):
    cut = uniform(intervals, domain=domain)
    assert len(cut) == intervals
    high = 1 if domain == "p" else math.pi
    assert np.diff(cut.edges) == pytest.approx(high / intervals, rel=1e-10)
    assert cut.probabilities()[[0, -1]].tolist() == [0.0, 1.0]


def test_intervals_thinner_than_floats_merge():
    assert uniform(1000, 0.5, np.nextafter(0.5, 1)).edges == (0.5, np.nextafter(0.5, 1))
    high = 1.0 - 2.0**-50
    cut = refined(1.0, 0.0, 50, 50, low=high)
    assert 1 <= len(cut) <= 8
    # Near 0 and pi, angles lie denser than probabilities.
    near_pi = Partition([0, math.pi - 1e-9, math.pi - 5e-10, math.pi], "theta")
    assert near_pi.probabilities().tolist() == [0.0, 1.0]


def test_no_radius_leaves_doubling_bands_from_the_finest_on():
    cut = refined(0.5, 0.0, 4, 3)
    assert 0.5 - 2.0**-51 in cut.edges
    assert len(cut) < 2 * 3 * 53 + 4


@fixed
@given(st.lists(st.floats(0, math.pi), min_size=2, max_size=30, unique=True), st.integers(1, 29))
def test_probabilities_keep_order_and_ends(angles, turn):
    edges = sorted(angles)
    cut = Partition(edges, "theta", turn=min(turn, len(edges) - 1))
    p = cut.probabilities()
    assert (np.diff(p) > 0).all()
    exact = [math.sin(min(angle, math.pi) / 2) ** 2 for angle in edges]
    assert all(min(abs(x - p)) <= 3e-16 for x in exact)


def test_partitions_are_values():
    assert uniform(3) == uniform(3)
    assert uniform(3) != uniform(3, 0.1)
    assert len({uniform(3), uniform(3), uniform(2)}) == 2
    assert repr(uniform(3)) == "<Partition of [0, 1] in p: 3 intervals>"
    assert repr(uniform(1, domain="theta")) == "<Partition of [0, 3.14159] in theta: 1 interval>"
    with pytest.raises(AttributeError):
        uniform(3).turn = 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition([0.5]), "edges must be a list of 2 to"),
        (lambda: Partition("ab"), "edges must be numbers"),
        (lambda: Partition([0, "x"]), "edges must be numbers"),
        (lambda: Partition([0, 0.5, 0.5, 1]), "edges must increase, got 0.5 after 0.5 at pos.* 2"),
        (lambda: Partition([0, 1.5]), r"edges must be in \[0.0, 1.0\], got 1.5 at position 1"),
        (lambda: Partition([0, math.nan]), "edges must be in"),
        (lambda: Partition([0, 1], "logit"), "domain must be one of 'p', 'theta'"),
        (lambda: Partition([0, 1], turn=2), r"turn must be an integer in \[0, 1\], got 2"),
        (lambda: uniform(0), "intervals must be an integer in"),
        (lambda: uniform(2, 0.5, 0.5), "low must be below high"),
        (lambda: uniform(2, -1), "low must be a number in"),
        (lambda: uniform(2, high=2), "high must be a number in"),
        (lambda: uniform(2, domain="x"), "domain must be one of"),
        (lambda: uniform(2).locate(1.5), r"x must be a number in \[0.0, 1.0\], got 1.5"),
        (lambda: refined(2, 0.1, 1, 1), "centre must be a number in"),
        (lambda: refined(0.5, -0.1, 1, 1), "radius must be a number in"),
        (lambda: refined(0.5, math.nan, 1, 1), "radius must be a number in"),
        (lambda: refined(0.5, 0.1, 0, 1), "inner must be an integer in"),
        (lambda: refined(0.5, 0.1, 1, 0), "per_band must be an integer in"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
