"""What was measured, as figures and as one page, for Python users as much as for the command line.

`recalibration` is the front door for a model's scores: from scores, calibrated probabilities and
outcomes it makes a `RecalibrationReport`, with a `Verdict`, the measures before and after
(`BeforeAfter`: two scorecards), the findings in sentences, and a `Page`. Read `before_after` (the
numbers and what they mean), `verdict` (better or worse, and why), then `recalibration_page`
(the call, and the page, one function a panel). `watching` is the same for a monitor: episodes and
evidence through time. `forecasting` is the same for forecasts of events. `timeline` says when
rounds were; `page` writes any page as one HTML file; `style` says how numbers and figures look;
`figures` holds the drawings, each of which computes plain numbers first.
"""

from calibrant.measures import Change
from calibrant.report.before_after import BeforeAfter, GroupMeasured
from calibrant.report.class_page import ClassReport
from calibrant.report.forecast_page import ForecastReport, forecasting
from calibrant.report.number_page import NumberReport
from calibrant.report.page import Page
from calibrant.report.recalibration_page import RecalibrationReport, recalibration
from calibrant.report.verdict import Verdict
from calibrant.report.watch_page import WatchReport, watching

__all__ = [
    "BeforeAfter",
    "Change",
    "ClassReport",
    "ForecastReport",
    "GroupMeasured",
    "NumberReport",
    "Page",
    "RecalibrationReport",
    "Verdict",
    "WatchReport",
    "forecasting",
    "recalibration",
    "watching",
]
