"""A little of ``python -m benchmarks attack``: nothing is bad, and what is bad is found."""

import numpy as np
import pytest

from benchmarks import attack

pytestmark = pytest.mark.long


#: tests/test_interrupts.py interrupts.
KINDS = [kind for kind in attack.QUICK if kind is not attack.attack_signals]


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.__name__)
def test_nothing_is_bad(kind):
    tally = attack.Tally()
    kind(tally, np.random.default_rng(0))
    assert tally.bad == []
    assert sum(tally.tries.values()) > 0


def test_what_is_bad_is_found(monkeypatch):
    monkeypatch.setattr(attack.forged, "verdict", lambda *_: "makes no sense")
    told = []
    tally = attack.Tally(told.append)
    attack.play_round("states", 0, tally)
    assert [row[2] for row in tally.rows()] == [200]
    assert len(told) == 200
