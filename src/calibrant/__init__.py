"""Probability forecasts that stay calibrated while the world changes."""

from calibrant.decide.decider import Decider as Decider
from calibrant.fleet.fleet import Fleet as Fleet
from calibrant.forecasters.epoch import Epoch as Epoch
from calibrant.forecasters.event_forecaster import EventForecaster as EventForecaster
from calibrant.forecasters.interval import Interval as Interval
from calibrant.forecasters.refined import Refined as Refined
from calibrant.forecasters.restarting import Restarting as Restarting
from calibrant.forecasters.swap import Swap as Swap
from calibrant.forecasters.zoom import Zoom as Zoom
from calibrant.monitor.episodes import Episode as Episode
from calibrant.monitor.monitor import Monitor as Monitor
from calibrant.recalibrate.calling import calibrated as calibrated
from calibrant.recalibrate.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
from calibrant.recalibrate.numbers import NumberRecalibrator as NumberRecalibrator
from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator

__version__ = "0.2.0"
