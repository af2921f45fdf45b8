"""What others do with a model's scores, to be compared with.

`base` comes first. It holds `Rival`, the contract that all of them keep (that of a `Recalibrator`,
but for saving), and `Raw`, which leaves the scores alone. A rival adds how it forecasts and how it
learns, names the source of its rule and says what the source leaves open. `newton` holds the
scalings that take online Newton steps, `OnlinePlatt` and `OnlineBeta`; `bins` those that learn bin
by bin, `Calibeating`, `TOPS`, `KuleshovErmon` and `HOPS`; `WindowedRefit` is what most teams do
today. Scores and outcomes lie in [0, 1]. `numbers` holds what others do to keep the prediction
intervals of numbers calibrated: each is a `NumberRival`, which plays whole streams. `classes` does
so for the scores of several classes: each is a `ClassRival`.
"""

from calibrant.recalibrate.rivals.base import Raw, Rival
from calibrant.recalibrate.rivals.bins import HOPS, TOPS, Calibeating, KuleshovErmon
from calibrant.recalibrate.rivals.classes import (
    ClassRefit,
    ClassRival,
    OnlinePriorShift,
    OnlineTemperature,
    OnlineTemperatureBias,
    OnlineVectorScaling,
)
from calibrant.recalibrate.rivals.newton import OnlineBeta, OnlinePlatt
from calibrant.recalibrate.rivals.numbers import (
    ACI,
    SAOCP,
    AgACI,
    ConformalPID,
    DtACI,
    GaussianEWMA,
    MultiQT,
    NormalisedSplit,
    NumberRival,
    SplitConformal,
)
from calibrant.recalibrate.rivals.windowed_refit import WindowedRefit

__all__ = [
    "ACI",
    "HOPS",
    "SAOCP",
    "TOPS",
    "AgACI",
    "Calibeating",
    "ClassRefit",
    "ClassRival",
    "ConformalPID",
    "DtACI",
    "GaussianEWMA",
    "KuleshovErmon",
    "MultiQT",
    "NormalisedSplit",
    "NumberRival",
    "OnlineBeta",
    "OnlinePlatt",
    "OnlinePriorShift",
    "OnlineTemperature",
    "OnlineTemperatureBias",
    "OnlineVectorScaling",
    "Raw",
    "Rival",
    "SplitConformal",
    "WindowedRefit",
]
