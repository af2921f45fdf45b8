"""The page about a recalibration of numbers: intervals through time, and what they cover."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant.measures.numbers import (
    PitHistogram,
    interval_coverage,
    interval_score,
    level_coverage,
    pit,
    pit_histogram,
)
from calibrant.measures.quantile_functions import as_levels, as_quantiles, quantile_at
from calibrant.monitor.numbers import NumberMonitor
from calibrant.report.figures.axes import percent
from calibrant.report.page import Page
from calibrant.report.style import INK, new_axes, show_number, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERVALS = (0.5, 0.8, 0.9)
#: Rounds that a fan chart can show one by one.
MOST_DRAWN = 300


@dataclass(frozen=True, eq=False)
class FanChart:
    """Central intervals of each round, the median, and what came.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.report.number_page import FanChart
    >>> chart = FanChart(np.array([0.05, 0.5, 0.95]), np.array([[1.0, 2.0, 3.0]]), np.array([2.5]))
    >>> chart.plot().get_ylabel()
    'outcome'
    """

    levels: Floats
    quantiles: Floats
    outcomes: Floats
    times: npt.NDArray[Any] | None = None

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the last rounds, each of them."""
        with styled():
            ax = new_axes() if ax is None else ax
            size = min(MOST_DRAWN, len(self.outcomes))
            q, y = self.quantiles[-size:], self.outcomes[-size:]
            is_dated = self.times is not None and self.times.dtype.kind == "M"
            first = len(self.outcomes) - size
            when = self.times[-size:] if is_dated and self.times is not None else np.arange(
                first, first + size)  # fmt: skip
            low, high = np.nanmin(y), np.nanmax(y)
            far = 3.0 * (high - low) + 1e-12  # an infinite quantile leaves the picture
            for coverage, shade in zip(reversed(INTERVALS), (0.15, 0.25, 0.4), strict=True):
                ends = quantile_at(self.levels, q, [(1 - coverage) / 2, (1 + coverage) / 2])
                ends = np.clip(ends, low - far, high + far)
                ax.fill_between(
                    when, ends[:, 0], ends[:, 1], step="mid", alpha=shade, color="tab:blue",
                    linewidth=0, label=f"{coverage:.0%} interval",
                )  # fmt: skip
            ax.plot(when, quantile_at(self.levels, q, 0.5)[:, 0], lw=1, label="median")
            ax.plot(when, y, ".", ms=3, color=INK, label="outcome")
            ax.set_ylim(low - 0.15 * (high - low) - 1e-12, high + 0.15 * (high - low) + 1e-12)
            ax.set_xlabel("time" if is_dated else "round")
            ax.set_ylabel("outcome")
            ax.legend(loc="upper left", ncols=3, fontsize=8)
            ax.figure.autofmt_xdate() if is_dated else None
        return ax


@dataclass(frozen=True, eq=False)
class LevelCoverage:
    """Of each level, the share of outcomes that were at most its quantile."""

    levels: Floats
    below: Floats
    at_most: Floats

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares beside the diagonal; a bar spans ties."""
        with styled():
            ax = new_axes(4.2, 4.2) if ax is None else ax
            ax.plot([0, 1], [0, 1], lw=1, color="0.6")
            ax.vlines(self.levels, self.below, self.at_most, lw=2, color="tab:blue")
            ax.plot(self.levels, (self.below + self.at_most) / 2, "o", ms=3, color="tab:blue")
            ax.set_xlabel("level")
            ax.set_ylabel("outcomes below")
            ax.xaxis.set_major_formatter(percent)
            ax.yaxis.set_major_formatter(percent)
        return ax


@dataclass(frozen=True, eq=False)
class PitFigure:
    """Where outcomes fell in their distributions: a flat histogram is calibrated."""

    histogram: PitHistogram

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram, and the band that 95 of 100 bars are in by chance."""
        with styled():
            ax = new_axes(4.2, 4.2) if ax is None else ax
            counts = self.histogram.counts
            n, bins = int(counts.sum()), len(counts)
            mean, half = 1.0, 1.96 * np.sqrt((bins - 1) / n)
            ax.axhspan(mean - half, mean + half, alpha=0.15, color="0.5", linewidth=0)
            ax.bar((np.arange(bins) + 0.5) / bins, counts * bins / n, width=0.9 / bins)
            ax.set_xlabel("probability of at most the outcome")
            ax.set_ylabel("outcomes, relative to even")
        return ax


class NumberReport:
    """What quantiles are worth, as numbers and as a page.

    Parameters
    ----------
    quantiles, levels, outcomes : arrays
        As `NumberRecalibrator.run` returns and takes them; rows whose outcome is NaN are left out.
    times : array, optional
        The date of each row, for the axis of the fan chart.
    title : str
        The heading.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import NumberRecalibrator
    >>> from calibrant.report import NumberReport
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> recalibrator = NumberRecalibrator()
    >>> report = NumberReport(recalibrator.run(np.zeros(1000), y), recalibrator.levels, y)
    >>> report.rows[2][0]
    '90%'
    """

    def __init__(
        self,
        quantiles: npt.ArrayLike,
        levels: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        times: npt.NDArray[Any] | None = None,
        title: str = "Prediction intervals",
    ) -> None:
        self.levels = as_levels(levels)
        q, y = as_quantiles(quantiles, len(self.levels)), np.asarray(outcomes, dtype=np.float64)
        is_known = ~np.isnan(y)
        if not is_known.any():
            raise ValueError("outcomes must have at least one that is known")
        self.quantiles, self.outcomes = q[is_known], y[is_known]
        self.times = None if times is None else np.asarray(times)[is_known]
        self.title = title

    @cached_property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Of each interval: its name, what it covers, its mean width and its score."""
        found = []
        far = 2.0 * float(np.ptp(self.outcomes)) + 1e-300
        y = self.outcomes
        near = np.clip(self.quantiles, y[:, None] - far, y[:, None] + far)
        for coverage in INTERVALS:
            tails = [(1 - coverage) / 2, (1 + coverage) / 2]
            low, high = quantile_at(self.levels, self.quantiles, tails).T
            below, above = quantile_at(self.levels, near, tails).T
            found.append(
                (
                    f"{100 * coverage:.0f}%",
                    f"{100 * interval_coverage(low, high, y):.1f}%",
                    show_number(float((above - below).mean())),
                    show_number(interval_score(below, above, y, coverage)),
                )
            )
        return found

    @cached_property
    def episodes(self) -> list[str]:
        """What a monitor finds, in sentences."""
        monitor = NumberMonitor()
        monitor.run(self.quantiles, self.levels, self.outcomes)
        return [str(each) for each in monitor.episodes]

    @cached_property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        covered = self.rows[-1][1]
        caught = int(np.isinf(self.quantiles).any(axis=1).sum())
        infinite = f" Quantiles were infinite in {caught:,} rows." if caught else ""
        page = Page(
            self.title,
            [
                f"Of {len(self.outcomes):,} outcomes, {covered} lay in their 90% intervals."
                + infinite,
                *(self.episodes[-3:] or ["No alarm: the intervals held throughout."]),
            ],
        )
        page.section("Intervals through time")
        page.figure(
            FanChart(self.levels, self.quantiles, self.outcomes, self.times),
            f"The last {min(MOST_DRAWN, len(self.outcomes)):,} rows.",
            "Central intervals of 50, 80 and 90%, the median and the outcomes.",
        )
        page.section("What the intervals cover")
        page.table(
            ["interval", "outcomes inside", "mean width", "interval score"],
            self.rows,
            "The interval score is the width plus what a miss costs: the lower the better.",
        )
        page.section(
            "Every level",
            "Points on the diagonal are calibrated, and bars of the histogram inside the band are "
            "as even as chance allows.",
        )
        histogram = pit_histogram(pit(self.quantiles, self.levels, self.outcomes))
        coverage = LevelCoverage(self.levels, *level_coverage(self.quantiles, self.outcomes))
        page.figures(
            {
                "Outcomes below each quantile, beside the level.": coverage,
                "Histogram of the probabilities of at most the outcome.": PitFigure(histogram),
            },
            f"A test of evenness gives p = {histogram.p_value:.2g}, if rows are independent.",
        )
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        self.page.save(path)
