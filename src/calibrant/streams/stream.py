"""A stream whose means are known, as returned by a synthetic family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._checks import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Outcomes of 0 and 1, and the probability with which each was drawn.

    Parameters
    ----------
    name : str
        The family it comes from.
    parameters : dict
        The arguments of the family, except `rounds` and `seed`:
        ``FAMILIES[name](len(stream), **parameters, seed=seed)`` gives the same stream again.
    seed : int
        The seed of the levels and of the outcomes.
    means, outcomes : array of float
        Round t's mean q_t and its outcome, drawn from Bernoulli(q_t). Read-only.

    Examples
    --------
    >>> from calibrant.streams import alternating
    >>> stream = alternating(6, every=2)
    >>> stream
    Stream(alternating, 6 rounds, low=0.0, high=1.0, every=2, seed=0)
    >>> stream.outcomes
    array([0., 0., 1., 1., 0., 0.])
    >>> stream.deviation, stream.segments
    (2.0, 3)
    """

    name: str
    parameters: dict[str, Any]
    seed: int
    means: Floats
    outcomes: Floats

    def __post_init__(self) -> None:
        # Deviation and segments are computed once: the arrays must not change.
        self.means.flags.writeable = False
        self.outcomes.flags.writeable = False

    @cached_property
    def deviation(self) -> float:
        """C, the smallest total distance of the means from a level: min over q of sum |q_t - q|."""
        # The sum is least at a median.
        return float(np.abs(self.means - np.median(self.means)).sum())

    @cached_property
    def segments(self) -> int:
        """K, the number of stretches in which the mean is constant."""
        return 1 + int(np.count_nonzero(np.diff(self.means)))

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        given = "".join(f"{key}={value!r}, " for key, value in self.parameters.items())
        return f"Stream({self.name}, {len(self)} rounds, {given}seed={self.seed})"


def generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the generators of the levels and of the outcomes of a family."""
    levels, outcomes = map(np.random.PCG64, np.random.SeedSequence(seed).spawn(2))
    return np.random.Generator(levels), np.random.Generator(outcomes)
