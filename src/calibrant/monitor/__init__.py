"""Monitoring of calibration, with alarms that may be checked after every round.

`Monitor` tests predictions against their outcomes. It raises one alarm per episode, with the range
of predictions or the group, the direction and the onset, and detects when the episode is over. The
rate of false alarms is bounded, however often one looks: see docs/monitor.md.
`gain_evidence` tests whether recalibrated probabilities are better than the scores they were made
from. `SideBySide` holds the monitors of ``Recalibrator(monitor=True)``.

Read `monitor` (the rounds, and late outcomes), `episodes` (what is found), `bands` (the bias of
each range), then `clock` (times) and `saving`.
"""

from calibrant.monitor.bands import Band
from calibrant.monitor.episodes import Episode
from calibrant.monitor.gain import gain_evidence
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.numbers import NumberEpisode, NumberMonitor
from calibrant.monitor.side_by_side import SideBySide

__all__ = [
    "Band",
    "Episode",
    "Monitor",
    "NumberEpisode",
    "NumberMonitor",
    "SideBySide",
    "gain_evidence",
]
