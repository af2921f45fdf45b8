"""Who predicts: one class a file, all behind one contract.

`Zoom` is the default. `Epoch` is the paper's baseline for a world that does not change; `Interval`
and `Swap` predict from the points of a partition and are what the paper builds on: `Refined` for a
known deviation, `Restarting` for a world of which nothing is known. What others do stands in
`calibrant.forecasters.rivals`.
"""

from calibrant.forecasters.base import Forecaster as Forecaster
from calibrant.forecasters.epoch import Epoch as Epoch
from calibrant.forecasters.interval import Interval as Interval
from calibrant.forecasters.refined import Refined as Refined
from calibrant.forecasters.restarting import Restarting as Restarting
from calibrant.forecasters.restarting import SubBlock as SubBlock
from calibrant.forecasters.swap import Swap as Swap
from calibrant.forecasters.zoom import Grid as Grid
from calibrant.forecasters.zoom import Zoom as Zoom
