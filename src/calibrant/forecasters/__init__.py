"""Forecasters from past outcomes: one algorithm a file, all behind one contract.

Read `base.py` first: a forecaster is a compiled kernel (`calibrant._kernels`) with arguments,
checks and a docstring, and `Forecaster` is what all of them share. `named.py` finds the classes
that are exported here and gives each its name on the command line.

`EventForecaster` is the default: sharp as well as calibrated. `Zoom` is calibrated, provably, and
tracks only a moving mean. `Epoch` is the paper's baseline for a world that does not change;
`Interval` and `Swap` predict from the points of a partition and are what the paper builds on:
`Refined` for a known deviation, `Restarting` for a world of which nothing is known. The algorithms
of others are in `calibrant.forecasters.rivals`.
"""

# In the order in which to read them, which is also the order in which they are listed and compared.
# isort: off
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.event_forecaster import EventForecaster
from calibrant.forecasters.memories import Memory
from calibrant.forecasters.zoom import Grid
from calibrant.forecasters.zoom import Zoom
from calibrant.forecasters.epoch import Epoch
from calibrant.forecasters.interval import Interval
from calibrant.forecasters.swap import Swap
from calibrant.forecasters.refined import Refined
from calibrant.forecasters.restarting import Restarting
from calibrant.forecasters.restarting import SubBlock

__all__ = [
    "Epoch",
    "EventForecaster",
    "Forecaster",
    "Grid",
    "Interval",
    "Memory",
    "Refined",
    "Restarting",
    "SubBlock",
    "Swap",
    "Zoom",
]
