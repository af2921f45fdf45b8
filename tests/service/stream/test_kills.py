"""SIGKILL under load, a few times: what was answered is in the store, once.

``python -m benchmarks kills`` does the same 200 times.
"""

import pytest

from benchmarks import kills

pytestmark = pytest.mark.slow


def test_nothing_that_was_answered_is_lost_by_a_kill():
    result = kills.siege_sqlite(4)
    assert result.verdict.wrong == []
    assert result.kills == 4
    assert result.verdict.counts["states equal to a replay"] == len(kills.STREAMS)
    assert result.verdict.counts["predictions repeated"] > 0
    assert result.verdict.counts["outcomes applied"] > 0


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("answers before the commit", "an answered prediction is lost"),
        ("snapshots are off", "the state is not that of a replay"),
    ],
)
def test_a_fault_is_found(fault, found):
    """A harness that finds nothing wrong is worth as much as what it finds."""
    result = kills.siege_sqlite(3, fault=fault)
    assert any(sentence.startswith(found) for sentence in result.verdict.wrong)
