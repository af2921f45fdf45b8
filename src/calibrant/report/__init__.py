"""What was measured, as figures and as one page, for Python users as much as for the command line.

`recalibration` is the front door for a model's scores: from scores, calibrated probabilities and
outcomes it makes a `RecalibrationReport`, with a `Verdict`, the measures before and after
(`BeforeAfter`, of `Measured` columns), the findings in sentences, and a `Page`. Read `before_after`
(the numbers and what they say), `chance` (what chance alone leaves), `verdict` (better or worse),
`causes` (why), then `recalibration_page` (the call) and `recalibration_panels` (its page, one
function a panel). `watching` is the same for a monitor: episodes, evidence through time and what
was off inside of them. `forecasting` is the same for forecasts of events: what they drew on, what
was said and what happened, and `keyed_page` is the page of a run with keys. `timeline` says when
rounds were; `page` writes any page as one HTML file; `style` says how numbers and figures look;
`figures` holds the drawings, each of which computes plain numbers first. The other modules make the
page of a sweep (``calibrant report``): `results` and `claims` read it, `findings` says what it
shows, `comparison` puts it together.
"""

from calibrant.report.before_after import BeforeAfter as BeforeAfter
from calibrant.report.before_after import GroupMeasured as GroupMeasured
from calibrant.report.before_after import Measured as Measured
from calibrant.report.chance import Change as Change
from calibrant.report.forecast_page import ForecastReport as ForecastReport
from calibrant.report.forecast_page import forecasting as forecasting
from calibrant.report.number_page import NumberReport as NumberReport
from calibrant.report.page import Page as Page
from calibrant.report.recalibration_page import RecalibrationReport as RecalibrationReport
from calibrant.report.recalibration_page import recalibration as recalibration
from calibrant.report.verdict import Verdict as Verdict
from calibrant.report.watch_page import WatchReport as WatchReport
from calibrant.report.watch_page import watching as watching
