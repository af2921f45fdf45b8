"""Partitions as the paper writes them, in exact fractions and with every bracket spelt out."""

from fractions import Fraction
from typing import NamedTuple


class Interval(NamedTuple):
    low: Fraction
    high: Fraction
    holds_low: bool
    holds_high: bool

    def holds(self, x):
        return (
            self.low < x < self.high
            or (x == self.low and self.holds_low)
            or (x == self.high and self.holds_high)
        )


def unif_part(low, high, n, holds_low, holds_high):
    """Definition `unifpart`: inner edges open the right interval; in (.,.], close the left."""
    edges = [low + (high - low) * Fraction(k, n) for k in range(n + 1)]
    opens = holds_low
    return [
        Interval(
            edges[k],
            edges[k + 1],
            holds_low if k == 0 else opens,
            holds_high if k == n - 1 else not opens,
        )
        for k in range(n)
    ]


def refined(centre, r, inner, per_band, *, low, high):
    """Equation `outer_division_Cal2`, with the inner region; bands beyond the domain are empty."""
    centre, r, low, high = map(Fraction, (centre, r, low, high))
    a, b = max(centre - 2 * r, low), min(centre + 2 * r, high)
    intervals = unif_part(a, b, inner, True, True)
    for q in range(200):
        near, far = (2**q - 1) * r, (2 ** (q + 1) - 1) * r
        l_far, l_near = max(a - far, low), a - near
        if l_far < l_near:
            intervals += unif_part(l_far, l_near, per_band, True, False)
        r_near, r_far = b + near, min(b + far, high)
        if r_near < r_far:
            intervals += unif_part(r_near, r_far, per_band, False, True)
    return sorted(intervals)
