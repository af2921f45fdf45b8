"""Forecasters of others, with the same contract.

Each class names the source of its rule. They are included for comparison: none of them adapts to
how fast the world changes. `FosterHart` is the strongest of the simple ones, and its kernel is the
one to read first; the three in `windows.py` are common practice; those in `contexts.py` are
sharp if outcomes have a memory, without any guarantee of calibration; the others are algorithms
from the literature since 1998.
"""

# In the order in which they are listed and compared.
# isort: off
from calibrant.forecasters.rivals.foster_hart import FosterHart
from calibrant.forecasters.rivals.windows import RunningMean
from calibrant.forecasters.rivals.windows import SlidingWindow
from calibrant.forecasters.rivals.windows import ExponentialWindow
from calibrant.forecasters.rivals.contexts import MarkovTable
from calibrant.forecasters.rivals.contexts import SeasonalTable
from calibrant.forecasters.rivals.contexts import ContextTree
from calibrant.forecasters.rivals.foster_vohra import FosterVohra
from calibrant.forecasters.rivals.foster_1999 import Foster1999
from calibrant.forecasters.rivals.abernethy_bartlett_hazan import (
    AbernethyBartlettHazan,
)
from calibrant.forecasters.rivals.k29 import K29
from calibrant.forecasters.rivals.k29 import K29Star
from calibrant.forecasters.rivals.aosa import AOSA
from calibrant.forecasters.rivals.u_calibration import UCalibration
from calibrant.forecasters.rivals.dyadic_hedge import DyadicHedge

__all__ = [
    "AOSA",
    "K29",
    "AbernethyBartlettHazan",
    "ContextTree",
    "DyadicHedge",
    "ExponentialWindow",
    "Foster1999",
    "FosterHart",
    "FosterVohra",
    "K29Star",
    "MarkovTable",
    "RunningMean",
    "SeasonalTable",
    "SlidingWindow",
    "UCalibration",
]
