"""The rows of Table 1: all of them, with worlds that are what they say."""

import pytest

from calibrant.experiments import SIZES
from calibrant.experiments.table1 import DEVIATING, HOSTILE, ROWS, SEGMENTED, STEADY
from calibrant.forecasters import named
from calibrant.streams.named import find

# The upper bounds of Table 1 that come with an algorithm, and those behind its "unknown C and K".
THEOREMS = {
    "simple_block_Cal1", "simple_block_Cal2", "simple_block_PKL", "CalL1_knownC", "cal1_better",
    "cal2_approach1", "PCal2_bound", "Cal2_bound_implied_by_PCal2", "PKLCal_bound_knownC",
    "combine_piecewise_cal1", "combine_piecewise_cal2", "combine_piecewise_PKL",
}  # fmt: skip


def test_every_theorem_is_there_with_both_constants():
    assert {row.theorem for row in ROWS} == THEOREMS
    for theorem in THEOREMS:
        constants = {row.constants for row in ROWS if row.theorem == theorem}
        expected = {"paper"} if theorem.startswith("simple_block") else {"tuned", "paper"}
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
    assert (row.cost_exponent is None) == (row.axis != "T")
    forecaster = named.make(row.forecaster, rounds=1000, deviation=10.0)
    assert getattr(forecaster, "constants", "paper") == row.constants
    if row.kind == "refined" and row.axis != "K":
        assert forecaster.deviation == 10.0
    assert (row.axis == "K") <= (row.kind == "restarting")


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
