"""Hostile requests, fewer than the benchmark's: no 5xx, no traceback, and the state stays."""

import pytest

from benchmarks.hostile_requests import attack


@pytest.mark.parametrize("seed", [1, 2])
def test_hostile_requests_change_nothing(seed):
    statuses, wrong = attack(seed, 800)
    assert wrong == []
    assert len(statuses) >= 20
