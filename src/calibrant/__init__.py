"""Probability forecasts that stay calibrated while the world changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
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
    from calibrant.recalibrate.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
    from calibrant.recalibrate.numbers import NumberRecalibrator as NumberRecalibrator
    from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator
    from calibrant.recalibrate.wrapper import calibrated as calibrated

HOMES = {
    "decide": "Decider",
    "fleet": "Fleet",
    "forecasters": "Epoch EventForecaster Interval Refined Restarting Swap Zoom",
    "monitor": "Episode Monitor",
    "recalibrate": "MulticlassRecalibrator NumberRecalibrator Recalibrator calibrated",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
__version__ = "0.2.0"
