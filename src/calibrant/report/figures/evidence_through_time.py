"""The evidence of a monitor through time, with its alarms and episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series
from calibrant.measures.distinct import Indices
from calibrant.monitor import Episode
from calibrant.report.figures.axes import time_axis
from calibrant.report.style import MUTED, SERIES, legend_above, new_axes, short_number, styled
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the line; each is the most evidence of its stretch, so that no alarm is lost.
POINTS = 1200
#: Evidence below this many rounds of chance is drawn at the foot.
FOOT = 1.0


@dataclass(frozen=True, eq=False)
class EvidenceThroughTime:
    """The evidence against calibration, round by round, on a logarithmic axis.

    At the dashed line the monitor rings. While predictions are calibrated, the evidence grows by
    at most 1 a round on average, and falls again. From an alarm to the end of its episode there is
    none; the episode is shaded from its onset to its end.

    Attributes
    ----------
    rounds : array of int
        The round of each point.
    evidence : array of float
        The evidence there, at most the threshold; NaN inside of episodes.
    threshold : float
        Where the monitor rings.
    episodes : sequence of Episode
        What it found.
    last : int
        The last round, which ends an episode that is open.
    times : array or None
        The date or reading of a clock of each round, for the axis; its number, if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Monitor
    >>> from calibrant.report.figures import EvidenceThroughTime
    >>> monitor = Monitor(every=1000)
    >>> trace = monitor.trace([0.5] * 60, [0, 1] * 10 + [1] * 40)
    >>> figure = EvidenceThroughTime.from_trace(trace, monitor.episodes, 1000)
    >>> bool(np.nanmax(figure.evidence) == 1000), bool(np.isnan(figure.evidence[-1]))
    (True, True)
    >>> figure.plot().get_yscale()
    'log'
    """

    rounds: Indices
    evidence: Floats
    threshold: float
    episodes: Sequence[Episode]
    last: int
    times: Moments | None = None

    @classmethod
    def from_trace(
        cls,
        trace: npt.ArrayLike,
        episodes: Sequence[Episode],
        threshold: float,
        *,
        times: Moments | None = None,
    ) -> EvidenceThroughTime:
        """Take what `Monitor.trace` returned, the episodes, and what rings: `every`."""
        shares = np.array(as_series(trace, "trace"), dtype=np.float64)
        if len(shares) == 0:
            raise ValueError("trace must have at least one round")
        last = len(shares) - 1
        for each in episodes:
            shares[each.alarm + 1 : last + 1 if each.end is None else each.end + 1] = np.nan
        starts = np.unique(np.linspace(0, len(shares), POINTS, endpoint=False).astype(np.intp))
        most = np.fmax.reduceat(np.clip(shares * threshold, FOOT, threshold), starts)
        return cls(starts, most, threshold, episodes, last, times)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evidence, on `ax` or on new axes, and return the axes."""
        from matplotlib.ticker import NullLocator  # noqa: PLC0415

        with styled():
            ax = ax or new_axes()
            when = np.arange(self.last + 1) if self.times is None else self.times
            label = "episode, onset to end"
            for episode in self.episodes:
                end = self.last if episode.end is None else episode.end
                ax.axvspan(
                    *when[[episode.onset, end]], color=SERIES[1].color, alpha=0.22,
                    linewidth=0, label=label, zorder=1,
                )  # fmt: skip
                label = "_"
            ax.plot(
                when[self.rounds], self.evidence, color=SERIES[0].color, linewidth=1.0,
                label="evidence", zorder=3,
            )  # fmt: skip
            ax.axhline(
                self.threshold, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.0, label="alarm"
            )
            alarms = [episode.alarm for episode in self.episodes]
            ax.plot(
                when[alarms], [self.threshold] * len(alarms), color=SERIES[1].color,
                marker="v", linestyle="", markersize=4, clip_on=False, zorder=4,
            )  # fmt: skip
            ax.set_yscale("log")
            ax.yaxis.set_minor_locator(NullLocator())  # hundreds, slow to draw
            ax.set_ylim(FOOT, self.threshold * 3)
            ax.set_ylabel("evidence against calibration")
            ax.yaxis.set_major_formatter(short_number)
            ax.set_xlim(when[0], when[self.last] if self.last else None)
            time_axis(ax, self.times)
            legend_above(ax)
        return ax
