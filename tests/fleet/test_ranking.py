"""Which keys have the most of something: against sorting all of them."""

import numpy as np
import pytest

from calibrant import Fleet


@pytest.fixture(params=[("int", 1), ("str", 1), ("str", 4)], ids=str)
def fleet(request):
    """Return a fleet whose keys differ, some with no outcome and many with equal counts."""
    kind, shards = request.param
    random = np.random.default_rng(3)
    keys = random.integers(0, 60, 900)
    outcomes = (random.random(900) < keys / 60).astype(float)
    outcomes[keys > 55] = np.nan
    fleet = Fleet(2, shards=shards)
    fleet.run(keys if kind == "int" else [f"k{key}" for key in keys], None, outcomes)
    return fleet


def in_full(fleet, by):
    """Sort all keys the slow way; Python's sort keeps equals in their order."""
    known = [(key, fleet[key]) for key in fleet]
    return sorted(known, key=lambda each: -getattr(each[1], by))


@pytest.mark.parametrize("by", ["trouble", "outcomes", "predictions"])
def test_ranked_is_what_sorting_everything_gives(fleet, by):
    whole = in_full(fleet, by)
    assert fleet.ranked(by, 1000) == whole
    for start, count in ((0, 5), (5, 5), (0, 0), (58, 5), (60, 5), (70, 1), (0, 59)):
        assert fleet.ranked(by, count, start) == whole[start : start + count]


def test_trouble_is_the_offset_in_deviations(fleet):
    known = dict(fleet.ranked(count=1000))
    assert len(known) == 60
    for key, each in known.items():
        assert fleet[key] == each
        assert each.trouble == (abs(each.offset) / each.deviation if each.outcomes else 0.0)
    assert max(each.trouble for each in known.values()) > 2


def test_a_fleet_without_keys_and_bad_arguments():
    fleet = Fleet()
    assert fleet.key_kind is None
    assert fleet.ranked() == []
    fleet.run([4], None, [1])
    assert fleet.key_kind == "int"
    with pytest.raises(ValueError, match="by must be"):
        fleet.ranked("name")
    with pytest.raises(ValueError, match="count must be"):
        fleet.ranked(count=-1)
