"""Where outcomes come from.

Synthetic families whose means are known, so that a bound in C or K can be checked; adversaries
that answer a forecaster; and real streams that come with the package.
"""

from calibrant.streams.adversaries import (
    ADVERSARIES,
    Adversary,
    Chaser,
    Contrarian,
    Game,
    Greedy,
    March,
    play,
)
from calibrant.streams.bundled import RealStream, load, names
from calibrant.streams.stream import Stream
from calibrant.streams.synthetic import (
    FAMILIES,
    alternating,
    corrupted,
    drift,
    iid,
    piecewise,
    random_walk,
    seasonal,
)

__all__ = [
    "ADVERSARIES",
    "FAMILIES",
    "Adversary",
    "Chaser",
    "Contrarian",
    "Game",
    "Greedy",
    "March",
    "RealStream",
    "Stream",
    "alternating",
    "corrupted",
    "drift",
    "iid",
    "load",
    "names",
    "piecewise",
    "play",
    "random_walk",
    "seasonal",
]
