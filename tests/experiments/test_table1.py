"""The rows of Table 1: all of them, with worlds that are what they say."""

import pytest

from calibrant import Swap
from calibrant.experiments import SIZES
from calibrant.experiments.table1 import DEVIATING, HOSTILE, ROWS, SEGMENTED, STEADY
from calibrant.forecasters import named
from calibrant.forecasters.rivals import FosterHart
from calibrant.streams.named import find

# The upper bounds of Table 1 that come with an algorithm, and those behind its "unknown C and K".
THEOREMS = {
    "simple_block_Cal1", "simple_block_Cal2", "simple_block_PKL", "CalL1_knownC", "cal1_better",
    "cal2_approach1", "PCal2_bound", "Cal2_bound_implied_by_PCal2", "PKLCal_bound_knownC",
    "combine_piecewise_cal1, cal1_better", "combine_piecewise_cal2, cal2_approach1",
    "combine_piecewise_cal2, Cal2_bound_implied_by_PCal2",
    "combine_piecewise_PKL, PKLCal_bound_knownC", "Table 1, CalL1_knownC", "Zoom's 1, 2 and 3",
}  # fmt: skip


def test_every_theorem_is_there_with_both_constants():
    assert {row.theorem for row in ROWS} == THEOREMS
    for theorem in THEOREMS:
        constants = {row.constants for row in ROWS if row.theorem == theorem}
        expected = {"tuned", "paper"}
        if theorem.startswith(("simple_block", "Zoom")):
            expected = {"zoom"} if theorem.startswith("Zoom") else {"paper"}
        assert constants == expected


def test_no_row_twice():
    keys = [(row.error, row.forecaster, row.axis, row.situation, row.theorem) for row in ROWS]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.theorem}-{row.axis}-{row.situation}")
def test_claims(row):
    l1 = row.error == "Cal1"
    claimed = {
        ("T", "i.i.d."): 1 / 2 if l1 else 0,
        ("T", "C of order T"): 2 / 3 if l1 else 1 / 3,
        ("C", "T fixed"): 1 / 3,
        ("K", "T fixed"): 1 / 2 if l1 else 1,
    }
    assert row.exponent == claimed[row.axis, row.situation]
    assert (row.log_power == 0) == (row.axis != "T")
    forecaster = named.make(row.forecaster, rounds=1000, deviation=10.0)
    assert getattr(forecaster, "constants", "paper") == row.constants.replace("zoom", "paper")
    if row.kind == "refined" and row.axis != "K":
        assert forecaster.deviation == 10.0
    assert (row.axis == "K") <= (row.kind in ("restarting", "zoom"))


# Theorems `combine_piecewise_...`: a min over C and K. With C = 0 there is one segment, and a1 is
# sqrt(log T) for Cal1 and log^3 T for the others.
@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "restarting"], ids=str)
def test_not_to_know_c_costs_no_logarithm_where_there_is_one_segment(row):
    if row.situation == "i.i.d.":
        assert row.log_power == (1 if row.error == "Cal1" else 3)


def test_every_row_has_fixed_grids_as_nulls():
    for row in ROWS:
        nulls = [named.make(null, rounds=1000) for null in row.nulls]
        if row.error == "PKLCal":
            assert all(isinstance(null, Swap) and null.loss == "log" for null in nulls)
            assert [null.intervals for null in nulls[1:]] == [16, 32]
            assert nulls[0].horizon == 1000
        else:
            assert all(isinstance(null, FosterHart) for null in nulls)
            assert [null.gaps for null in nulls] == [10, 16, 32]
        assert row.beyond_null == (row.situation != "C of order T")


# The time of a round that the combine theorems claim: in C, and, if that is less, in K.
@pytest.mark.parametrize(
    ("forecaster", "in_c", "in_k"),
    [
        ("restarting:measure=l1,horizon=T", 1 / 3, 1 / 2),
        ("restarting:measure=l2,horizon=T", 1 / 3, 1),
        ("restarting:measure=l2,base=swap,horizon=T", 2 / 3, 2),
        ("restarting:measure=pseudo_kl,horizon=T", 2 / 3, 2),
    ],
)
def test_claimed_times(forecaster, in_c, in_k):
    times = {row.axis: row.cost_exponent for row in ROWS if row.forecaster == forecaster}
    assert (times["C"], times["K"]) == (in_c, in_k)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_sizes(size):
    for axis in "TCK":
        sizes = size.along(axis)
        assert sorted(set(sizes)) == list(sizes)
    assert size.deviations[-1] == size.rounds // 5
    assert size.horizons[0] == 1000


@pytest.mark.parametrize("world", DEVIATING, ids=lambda world: world.name)
@pytest.mark.parametrize("C", [10, 300, 4000])
def test_deviations_are_what_they_are_called(world, C):
    found = find(world.stream(C, 20_000), rounds=20_000, seed=3)
    # A stretch is a whole number of rounds, of which each brings up to 0.4.
    assert found.deviation == pytest.approx(C, rel=0.01, abs=0.4)


def test_steady_and_hostile_worlds():
    for world in STEADY:
        assert find(world.stream(0, 1000), rounds=1000).deviation == 0.0
    for world in HOSTILE:
        assert 190 < find(world.stream(0, 1000), rounds=1000).deviation < 260
    for world in SEGMENTED:
        assert find(world.stream(7, 1000), rounds=1000).segments == 7


def test_a_mean_for_each_seed():
    means = {
        find(STEADY[-1].stream(0, 50), rounds=50, seed=seed).outcomes.mean() for seed in (1, 2)
    }
    assert len(means) == 2
