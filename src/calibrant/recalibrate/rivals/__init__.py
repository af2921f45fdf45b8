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

from calibrant.recalibrate.rivals.base import Raw as Raw
from calibrant.recalibrate.rivals.base import Rival as Rival
from calibrant.recalibrate.rivals.bins import HOPS as HOPS
from calibrant.recalibrate.rivals.bins import TOPS as TOPS
from calibrant.recalibrate.rivals.bins import Calibeating as Calibeating
from calibrant.recalibrate.rivals.bins import KuleshovErmon as KuleshovErmon
from calibrant.recalibrate.rivals.classes import ClassRefit as ClassRefit
from calibrant.recalibrate.rivals.classes import ClassRival as ClassRival
from calibrant.recalibrate.rivals.classes import OnlinePriorShift as OnlinePriorShift
from calibrant.recalibrate.rivals.classes import OnlineTemperature as OnlineTemperature
from calibrant.recalibrate.rivals.classes import OnlineTemperatureBias as OnlineTemperatureBias
from calibrant.recalibrate.rivals.classes import OnlineVectorScaling as OnlineVectorScaling
from calibrant.recalibrate.rivals.newton import OnlineBeta as OnlineBeta
from calibrant.recalibrate.rivals.newton import OnlinePlatt as OnlinePlatt
from calibrant.recalibrate.rivals.numbers import ACI as ACI
from calibrant.recalibrate.rivals.numbers import SAOCP as SAOCP
from calibrant.recalibrate.rivals.numbers import AgACI as AgACI
from calibrant.recalibrate.rivals.numbers import ConformalPID as ConformalPID
from calibrant.recalibrate.rivals.numbers import DtACI as DtACI
from calibrant.recalibrate.rivals.numbers import GaussianEWMA as GaussianEWMA
from calibrant.recalibrate.rivals.numbers import MultiQT as MultiQT
from calibrant.recalibrate.rivals.numbers import NormalisedSplit as NormalisedSplit
from calibrant.recalibrate.rivals.numbers import NumberRival as NumberRival
from calibrant.recalibrate.rivals.numbers import SplitConformal as SplitConformal
from calibrant.recalibrate.rivals.windowed_refit import WindowedRefit as WindowedRefit
