"""Where outcomes come from.

Synthetic families whose means are known, so that a bound in C or K can be checked.
"""

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
    "FAMILIES",
    "Stream",
    "alternating",
    "corrupted",
    "drift",
    "iid",
    "piecewise",
    "random_walk",
    "seasonal",
]
