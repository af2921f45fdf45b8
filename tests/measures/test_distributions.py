import numpy as np
import pytest

from calibrant.measures import Distributions, pcal2


def test_indexing_iteration_and_length_agree():
    pairs = [([0.2, 0.4], [0.5, 0.5]), ([0.3], [1.0]), ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25])]
    rounds = Distributions.from_pairs(iter(pairs))
    assert len(rounds) == len(list(rounds)) == 3
    for i, (points, weights) in enumerate(pairs):
        for got in (rounds[i], rounds[i - 3], list(rounds)[i]):
            assert got[0].tolist() == points
            assert got[1].tolist() == weights
    assert rounds.starts.tolist() == [0, 2, 3, 6]
    for outside in (3, -4):
        with pytest.raises(IndexError):
            rounds[outside]


def test_no_rounds_are_fine():
    assert len(Distributions.from_pairs([])) == 0
    assert list(Distributions(np.empty(0), np.empty(0), np.array([0]))) == []


@pytest.mark.parametrize(
    ("points", "weights", "starts", "message"),
    [
        ([0.5, 1.5], [0.5, 0.5], [0, 2], r"points must be in \[0, 1\], got 1.5 at position 1"),
        ([0.5, 0.6], [0.5, np.nan], [0, 2], "weights must be in .* got nan at position 1"),
        ([0.5, 0.6], [1.5, -0.5], [0, 2], "weights must be in .* got 1.5 at position 0"),
        ([0.5, 0.6], [1.0], [0, 2], "same length, got 2 and 1"),
        ([0.5, 0.6], [1.0, 0.9], [0, 1, 2], "sum to 1 in every round, got 0.9 in round 1"),
        ([0.5], [1.0], [0, 2], "from 0 to the number of points, 1, got 0 to 2"),
        ([0.5], [1.0], [1, 1], "from 0"),
        ([0.5], [1.0], [0, 0, 1], "round 0 has no points"),
        ([0.5], [1.0], [0.0, 1.0], "starts must be integers"),
        ([0.5], [1.0], np.empty(0, dtype=int), "at least one"),
    ],
)
def test_what_is_not_a_distribution_is_refused(points, weights, starts, message):
    with pytest.raises(ValueError, match=message):
        Distributions(points, weights, starts)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([([0.5], [1.0]), 0.5], "at position 1"),
        ([([0.5], [1.0]), ([0.5], [1.0], [2])], "at position 1"),
        ([([0.5, 0.6], [1.0])], "points of round 0 .* got 2 and 1"),
        ([([0.5], [1.0]), ([-0.5], [1.0])], "points of round 1 must be in"),
        ([([], [])], "round 0 has no points"),
    ],
)
def test_what_is_not_a_pair_is_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        Distributions.from_pairs(pairs)


def test_rounds_must_match_outcomes():
    with pytest.raises(ValueError, match="distributions and outcomes must have the same length"):
        pcal2([([0.5], [1.0])], [1, 0])
