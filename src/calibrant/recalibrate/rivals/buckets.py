"""The unit interval in equal buckets, and a seed for each."""

from __future__ import annotations

import numpy as np


def bucket_of(p: float, buckets: int) -> int:
    """Return which of the buckets [i/N, (i+1)/N), the last one closed, holds p."""
    return min(int(p * buckets), buckets - 1)


def seeds_of(seed: int, count: int) -> list[int]:
    """Return seeds whose draws have nothing to do with each other, or with another seed's."""
    states = np.random.SeedSequence(seed).generate_state(count, np.uint64)
    return [int(state) for state in states]
