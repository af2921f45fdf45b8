"""Rounds for property tests: few distinct predictions, so that they repeat, ends included."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

repeatable = settings(derandomize=True, max_examples=100, deadline=None, database=None)
repeatable_slow = settings(repeatable, max_examples=40)

LEVELS = [0.0, 0.05, 0.1, 0.3, 1 / 3, 0.5, 0.55, 0.7, 0.95, 1.0]
predictions = st.one_of(st.sampled_from(LEVELS), st.floats(0.0, 1.0))
outcomes = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


def rounds(low: int = 0, high: int = 25, outcome=outcomes, prediction=predictions):
    """Return a strategy for (predictions, outcomes)."""
    return st.lists(st.tuples(prediction, outcome), min_size=low, max_size=high).map(
        lambda pairs: ([p for p, _ in pairs], [y for _, y in pairs])
    )


@st.composite
def distribution(draw):
    """Draw (points, weights) of one round; weights may be 0."""
    points = draw(st.lists(predictions, min_size=1, max_size=4))
    parts = [draw(st.integers(0, 5)) for _ in points]
    parts[0] += 1
    return points, [part / sum(parts) for part in parts]
