"""A rate of each window, of several ways to do something: acts, precision, recall, costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_integer, check_same_length
from calibrant.measures.distinct import Indices
from calibrant.report.figures.axes import percent, time_axis
from calibrant.report.style import MUTED, RULE, Series, legend_above, look_of, new_axes, styled
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RateThroughTime:
    """The mean of each window, by name, beside the band in which it should lie.

    Attributes
    ----------
    rounds : array of int
        Rounds so far at the end of each window.
    rates : dict of str to array
        The mean of each window, by name; NaN where the window has nothing to take the mean of.
    window : int
        Rounds of a window.
    label : str
        What the rate is, for the axis.
    band : tuple of float
        Where the rate should lie: from, to. The same twice for one line.
    times : array or None
        The date or reading of a clock of each round, for the axis; its number, if not given.
    looks : dict of str to Series
        How to draw each; by its position, if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.report.figures import RateThroughTime
    >>> acts, happened = np.array([1, 1, 0, 1]), np.array([1, 0, 0, 1])
    >>> figure = RateThroughTime.from_several(
    ...     {"precision": np.where(acts, happened, np.nan)}, window=2, label="precision")
    >>> figure.rates["precision"]
    array([0.5, 1. ])
    >>> figure.plot().get_ylabel()
    'precision, of each 2 rounds'
    """

    rounds: Indices
    rates: dict[str, Floats]
    window: int
    label: str
    band: tuple[float, float] | None = None
    times: Moments | None = None
    looks: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def from_several(
        cls,
        values: Mapping[str, npt.ArrayLike],
        *,
        window: int,
        label: str,
        band: tuple[float, float] | None = None,
        times: Moments | None = None,
        looks: Mapping[str, Series] | None = None,
    ) -> RateThroughTime:
        """Take the means of whole windows; a value that is NaN does not count.

        What is left after the last whole window is left out, unless there is none.
        """
        if not values:
            raise ValueError("values must name at least one series, got none")
        window = check_integer("window", window, 1)
        columns = {name: as_series(each, name).astype(np.float64) for name, each in values.items()}
        first, size = next((name, len(each)) for name, each in columns.items())
        for name, each in columns.items():
            check_same_length(name, len(each), first, size)
        stops = np.arange(window, size + 1, window)
        stops = stops if len(stops) else np.array([size])
        edges = np.append(0, stops)
        rates = {}
        for name, each in columns.items():
            counted = np.append(0, np.cumsum(~np.isnan(each)))
            sums = np.append(0.0, np.cumsum(np.nan_to_num(each)))
            with np.errstate(invalid="ignore"):
                rates[name] = np.diff(sums[edges]) / np.diff(counted[edges])
        return cls(stops, rates, window, label, band, times, looks or {})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates, on `ax` or on new axes, and return the axes."""
        with styled():
            ax = ax or new_axes()
            when = self.rounds if self.times is None else self.times[self.rounds - 1]
            if self.band is not None:
                low, high = self.band
                ax.axhspan(low, high, color=RULE, alpha=0.7, linewidth=0, zorder=0)
                for edge in {low, high}:
                    ax.axhline(edge, color=MUTED, linewidth=0.8, zorder=1)
            for position, (name, rates) in enumerate(self.rates.items()):
                look = look_of(self.looks, name, position)
                ax.plot(
                    when, rates, color=look.color, linestyle=look.dashes, linewidth=1.3, label=name
                )
            ax.set_ylabel(f"{self.label}, of each {self.window:,} rounds")
            ax.set_ylim(bottom=0)
            highest = max(np.nanmax(rates, initial=0.0) for rates in self.rates.values())
            if highest <= 1.0:
                ax.yaxis.set_major_formatter(percent)
            time_axis(ax, self.times)
            legend_above(ax)
        return ax
