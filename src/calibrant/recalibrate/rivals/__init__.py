"""What others do with a model's scores, to be compared with: a class a file.

`base` comes first. It holds `Rival`, the contract that all of them keep (that of a `Recalibrator`,
but for saving), and `Raw`, which leaves the scores alone. A rival adds how it forecasts and how it
learns, names the source of its rule and says what the source leaves open. `OnlinePlatt` and
`OnlineBeta` take the steps of `newton`; `TOPS` and `HOPS` correct `OnlinePlatt`, the one by the
mean outcome of each bin (as `Calibeating` corrects the scores), the other with a forecaster in each
bin (as `KuleshovErmon` does); `WindowedRefit` is what most teams do today. Scores and outcomes lie
in [0, 1].
"""

from calibrant.recalibrate.rivals.base import Raw as Raw
from calibrant.recalibrate.rivals.base import Rival as Rival
from calibrant.recalibrate.rivals.calibeating import Calibeating as Calibeating
from calibrant.recalibrate.rivals.hops import HOPS as HOPS
from calibrant.recalibrate.rivals.kuleshov_ermon import KuleshovErmon as KuleshovErmon
from calibrant.recalibrate.rivals.online_beta import OnlineBeta as OnlineBeta
from calibrant.recalibrate.rivals.online_platt import OnlinePlatt as OnlinePlatt
from calibrant.recalibrate.rivals.tops import TOPS as TOPS
from calibrant.recalibrate.rivals.windowed_refit import WindowedRefit as WindowedRefit
