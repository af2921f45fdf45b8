"""Every public forecaster, once for each way of building it: all pass the same tests."""

from calibrant import Epoch, Zoom
from calibrant.forecasters.rivals import FosterHart, RunningMean

FORECASTERS = [
    (Zoom, {}),
    (Epoch, {"measure": "l2"}),
    (Epoch, {"measure": "kl"}),
    (RunningMean, {}),
    (FosterHart, {"cells": 1}),
    (FosterHart, {"cells": 32}),
]
IDS = [
    f"{cls.__name__}-{'-'.join(map(str, arguments.values()))}".rstrip("-")
    for cls, arguments in FORECASTERS
]
