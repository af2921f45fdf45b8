"""Forecasters from past outcomes: one algorithm per file, all with the same contract.

Read `base.py` first: a forecaster is a compiled kernel (`calibrant._kernels`) with arguments,
checks and a docstring, and `Forecaster` is their common base. `named.py` finds the classes
that are exported here and gives each its name on the command line.

`EventForecaster` is the default: sharp as well as calibrated. `Zoom` is provably calibrated, and
tracks only a moving mean. `Epoch` is the paper's baseline for a stationary world;
`Interval` and `Swap` predict from the points of a partition. The paper builds on these two:
`Refined` is for a known deviation, `Restarting` for an unknown one. The algorithms
of others are in `calibrant.forecasters.rivals`.
"""

# In reading order, which is also the order in which they are listed and compared.
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
