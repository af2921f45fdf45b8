"""What others do, behind the same contract.

Each class names the source of its rule. They are here to be compared with: none of them adapts to
how fast the world changes. `FosterHart` is the strongest of the simple ones, and its kernel the one
to read first; the three of `windows.py` are what people do today; those of `remembering.py` are
sharp where outcomes have a memory, and say nothing of calibration; the others are the algorithms of
the literature, from 1998 on.
"""

# In the order in which they are listed and compared.
# isort: off
from calibrant.forecasters.rivals.foster_hart import FosterHart as FosterHart
from calibrant.forecasters.rivals.windows import RunningMean as RunningMean
from calibrant.forecasters.rivals.windows import SlidingWindow as SlidingWindow
from calibrant.forecasters.rivals.windows import ExponentialWindow as ExponentialWindow
from calibrant.forecasters.rivals.remembering import MarkovTable as MarkovTable
from calibrant.forecasters.rivals.remembering import SeasonalTable as SeasonalTable
from calibrant.forecasters.rivals.remembering import ContextTree as ContextTree
from calibrant.forecasters.rivals.foster_vohra import FosterVohra as FosterVohra
from calibrant.forecasters.rivals.foster_1999 import Foster1999 as Foster1999
from calibrant.forecasters.rivals.abernethy_bartlett_hazan import (
    AbernethyBartlettHazan as AbernethyBartlettHazan,
)
from calibrant.forecasters.rivals.k29 import K29 as K29
from calibrant.forecasters.rivals.k29 import K29Star as K29Star
from calibrant.forecasters.rivals.aosa import AOSA as AOSA
from calibrant.forecasters.rivals.u_calibration import UCalibration as UCalibration
