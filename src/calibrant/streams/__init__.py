"""Streams of outcomes: families with known means, adversaries and real streams.

`synthetic.py` draws outcomes whose means are known, so that a bound in C or K can be checked, and
returns a `Stream`; `memory.py` does so for means that depend on the past outcomes, so that
one can measure what a forecaster has not learned. `families.py` lists both. `adversaries.py`
chooses outcomes against a forecaster, and `play` plays one against the other.
`bundled.py` loads the real streams that come with the package. `named.py` finds any of them,
or a file, by a name with parameters.
"""

from calibrant.streams.adversaries import (
    ADVERSARIES,
    Adversary,
    Chaser,
    Contrarian,
    Drag,
    Game,
    Greedy,
    Learned,
    March,
    SignPreservation,
    play,
)
from calibrant.streams.bundled import RealStream, load, names
from calibrant.streams.families import FAMILIES
from calibrant.streams.memory import cycle, hidden_markov, markov, regimes, runs
from calibrant.streams.numbers import NumberStream, load_numbers
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

__all__ = [
    "ADVERSARIES",
    "FAMILIES",
    "Adversary",
    "Chaser",
    "Contrarian",
    "Drag",
    "Game",
    "Greedy",
    "Learned",
    "March",
    "NumberStream",
    "RealStream",
    "SignPreservation",
    "Stream",
    "alternating",
    "corrupted",
    "cycle",
    "drift",
    "hidden_markov",
    "iid",
    "load",
    "load_numbers",
    "markov",
    "names",
    "piecewise",
    "play",
    "random_walk",
    "regimes",
    "runs",
    "seasonal",
]
