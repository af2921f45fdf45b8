"""What others do with a model's scores, behind one interface.

A round is `predict` with the score, then `update` with the outcome; `run` plays many. Each class
names the source of its rule, and says what the source leaves open. They are here to be compared
with. Scores and outcomes lie in [0, 1].
"""

from calibrant.recalibrate.rivals.base import Rival as Rival
from calibrant.recalibrate.rivals.calibeating import Calibeating as Calibeating
from calibrant.recalibrate.rivals.hops import HOPS as HOPS
from calibrant.recalibrate.rivals.kuleshov_ermon import KuleshovErmon as KuleshovErmon
from calibrant.recalibrate.rivals.online_beta import OnlineBeta as OnlineBeta
from calibrant.recalibrate.rivals.online_platt import OnlinePlatt as OnlinePlatt
from calibrant.recalibrate.rivals.raw import Raw as Raw
from calibrant.recalibrate.rivals.tops import TOPS as TOPS
from calibrant.recalibrate.rivals.windowed_refit import WindowedRefit as WindowedRefit
