"""Forged states of deciders: refused, or within cap and floor."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.forged import forged, parts_of, sealed
from calibrant import Decider

KINDS = [
    {"cost_of_acting": 1, "cost_of_missing": 5, "explore": 0.1},
    {"costs": [[0, 8], [1, 0.5]]},
    {"budget": 0.1, "per": 100},
    {"budget": 0.1, "per": "100s", "explore": 0.01},
    {"precision": 0.4},
    {"recall": 0.9, "explore": 0.05},
    {"precision": 0.4, "silence": 1, "after": 15},
]
BLOBS = 150


def saved(arguments):
    decider, random = Decider(**arguments, seed=3), np.random.default_rng(2)
    for t in range(300):
        decider.decide(random.random(), id=t, at=None if "silence" in arguments else t)
        decider.update_many([float(random.random() < 0.4)], ids=[t - random.integers(20)])
    return decider.to_bytes()


def play(decider):
    """Answer what is pending, decide more rows, and check what is told of them."""
    book = decider._book
    decider.update_many(np.ones(len(book.ids)), ids=book.ids)
    start = max(book.now, decider.rounds, 0.0)
    if book.has_deadlines or start > 1e12:  # a clock so late that seconds are not told apart
        return
    random = np.random.default_rng(0)
    acts, chances = decider.decide_many(
        random.random(400),
        ids=[f"new {t}" for t in range(400)],
        at=start + np.arange(400),
        propensities=True,
    )
    assert ((chances >= 0) & (chances <= 1)).all()
    assert acts[chances == 1].all()
    if decider.budget is not None and isinstance(decider.per, int):
        windows = np.convolve(acts, np.ones(decider.per), "valid")
        cap = decider.cap or 1 + decider.band
        assert windows.max() <= cap * decider.budget * decider.per + 1e-6
    assert 0 <= decider.precision_bound() <= 1
    assert 0 <= decider.threshold <= 1


@pytest.mark.parametrize("arguments", KINDS, ids=str)
def test_a_forged_decider_is_refused_or_can_be_played(arguments):
    blob, random, counted = saved(arguments), np.random.default_rng(5), Counter()
    assert Decider.from_bytes(blob).to_bytes() == blob
    for _ in range(BLOBS):
        try:
            decider = Decider.from_bytes(forged(blob, random))
        except ValueError:
            counted["refused"] += 1
            continue
        assert Decider.from_bytes(decider.to_bytes()).to_bytes() == decider.to_bytes()
        play(decider)
        counted["taken"] += 1
    assert min(counted.values()) > 10


def test_a_window_that_ends_after_the_clock_is_refused():
    decider = Decider(budget=0.2, per="100s")
    decider.decide_many(np.full(300, 0.4), at=np.arange(300.0))
    header, arrays = parts_of(decider.to_bytes())
    header["numbers"]["window_last"] = 301.0
    with pytest.raises(ValueError, match="window_last must not be later"):
        Decider.from_bytes(sealed(header, arrays))


def test_a_clock_that_counts_decisions_is_refused_where_a_budget_is_per_time():
    decider = Decider(budget=0.2, per="100s", silence=0, after=2)
    decider.decide_many(np.full(5, 0.4), ids=range(5), at=np.zeros(5))
    decider.advance(3.0)
    header, arrays = parts_of(decider.to_bytes())
    assert header["numbers"]["clock_timed"] == 1
    header["numbers"]["clock_timed"] = 0
    with pytest.raises(ValueError, match="clock_timed must not be 0"):
        Decider.from_bytes(sealed(header, arrays))
