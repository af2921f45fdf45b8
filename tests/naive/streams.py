"""Deviation, segments and adversaries from their definitions, in exact arithmetic where it helps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def deviation(means: Sequence[float]) -> float:
    """min over q of sum |q_t - q|: the sum is piecewise linear, so some q_t attains it."""
    exact = [Fraction(q) for q in means]
    return float(min(sum(abs(q - level) for q in exact) for level in set(exact)))


def segments(means: Sequence[float]) -> int:
    stretches: list[float] = []
    for q in means:
        if not stretches or stretches[-1] != q:
            stretches.append(q)
    return len(stretches)
