"""A driver that is killed with SIGKILL and restarted has the same sink and state as without it."""

from __future__ import annotations

import pytest

from benchmarks.spark.job import write_files
from benchmarks.spark.kills import check, committed, kill_at_random

pytestmark = pytest.mark.slow

PARTS = 4


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_a_killed_driver_loses_and_repeats_nothing(java, tmp_path):  # noqa: ARG001
    write_files(tmp_path / "in", files=4, rows=500, keys=50, late=0.3, seed=1)
    kill_at_random(tmp_path, PARTS, kills=1, seed=1)
    assert committed(tmp_path) == 4
    assert "equal bit for bit" in check(tmp_path, PARTS)
    # The comparison sees a batch that is missing: it cannot pass by itself.
    for file in (tmp_path / "recalibrate" / "batch=2").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(AssertionError, match="answers to"):
        check(tmp_path, PARTS)
