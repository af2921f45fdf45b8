"""Every family of synthetic streams by its name."""

from __future__ import annotations

from collections.abc import Callable

from calibrant.streams.memory import cycle, hidden_markov, markov, regimes, runs
from calibrant.streams.stream import Stream
from calibrant.streams.synthetic import (
    alternating,
    corrupted,
    drift,
    iid,
    piecewise,
    random_walk,
    seasonal,
)

FAMILIES: dict[str, Callable[..., Stream]] = {
    family.__name__: family
    for family in (
        iid, piecewise, drift, seasonal, random_walk, corrupted, alternating,
        markov, hidden_markov, cycle, runs, regimes,
    )
}  # fmt: skip
