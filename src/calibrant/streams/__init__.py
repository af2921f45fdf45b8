"""Where outcomes come from.

Synthetic families whose means are known, so that a bound in C or K can be checked; adversaries
that answer a forecaster; files, pipes and data frames; and real streams that come with the
package.
"""

from calibrant.streams.adversaries import (
    ADVERSARIES,
    Adversary,
    Chaser,
    Contrarian,
    Game,
    Greedy,
    play,
)
from calibrant.streams.atomic import replacing
from calibrant.streams.bundled import RealStream, load, names
from calibrant.streams.errors import InputError
from calibrant.streams.files import read
from calibrant.streams.live import follow
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
from calibrant.streams.table import Column, Table
from calibrant.streams.writing import write

__all__ = [
    "ADVERSARIES",
    "FAMILIES",
    "Adversary",
    "Chaser",
    "Column",
    "Contrarian",
    "Game",
    "Greedy",
    "InputError",
    "RealStream",
    "Stream",
    "Table",
    "alternating",
    "corrupted",
    "drift",
    "follow",
    "iid",
    "load",
    "names",
    "piecewise",
    "play",
    "random_walk",
    "read",
    "replacing",
    "seasonal",
    "write",
]
