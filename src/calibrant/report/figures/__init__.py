"""Figures, each in two halves: ``from_...`` computes plain numbers, ``.plot(ax=None)`` draws them.

The numbers need NumPy alone and are there to be read or tested. Drawing needs matplotlib
(``pip install 'calibrant[plot]'``), returns the axes, and leaves matplotlib's settings as they
were; ``.plot().figure`` is what to show in a notebook or to save. Every figure can be read in
grey and by colour-blind readers: what a colour says, dashes or a shape say too.
"""

from calibrant.report.figures.error_growth import ErrorGrowth, GrowthCurve, Slope
from calibrant.report.figures.error_through_time import ErrorThroughTime, TimeCurve
from calibrant.report.figures.evidence_through_time import (
    EvidenceThroughTime,
)
from calibrant.report.figures.mean_through_time import MeanThroughTime
from calibrant.report.figures.memory_through_time import MemoryThroughTime
from calibrant.report.figures.point_spread import PointSpread
from calibrant.report.figures.rate_through_time import RateThroughTime
from calibrant.report.figures.reliability import ReliabilityDiagram
from calibrant.report.figures.score_map import ScoreMap
from calibrant.report.figures.winner_map import WinnerMap

__all__ = [
    "ErrorGrowth",
    "ErrorThroughTime",
    "EvidenceThroughTime",
    "GrowthCurve",
    "MeanThroughTime",
    "MemoryThroughTime",
    "PointSpread",
    "RateThroughTime",
    "ReliabilityDiagram",
    "ScoreMap",
    "Slope",
    "TimeCurve",
    "WinnerMap",
]
