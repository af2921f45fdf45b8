"""How the error grows with the number of rounds, the deviation or the number of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_choice
from calibrant.report.style import (
    MUTED,
    PAPER,
    SERIES,
    legend_above,
    new_axes,
    plain_number,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the error can grow with, and what its axis is called.
AXES = {"T": "rounds T", "C": "deviation C", "K": "segments K"}


@dataclass(frozen=True, eq=False)
class GrowthCurve:
    """The error of one forecaster at several sizes.

    Attributes
    ----------
    sizes : array of float
        Rounds, deviation or segments, increasing.
    mean, spread : array of float
        Mean and standard deviation of the error over the seeds.

    Examples
    --------
    >>> from calibrant.report.figures import ErrorGrowth
    >>> figure = ErrorGrowth.from_errors({"zoom": {100: [1.0, 3.0], 1000: [4.0, 4.0]}})
    >>> figure.curves["zoom"].mean, figure.curves["zoom"].spread
    (array([2., 4.]), array([1., 0.]))
    """

    sizes: Floats
    mean: Floats
    spread: Floats

    @property
    def drawable(self) -> npt.NDArray[np.bool_]:
        """Which means can be drawn: 0 and infinity have no place on a logarithmic axis."""
        return (self.mean > 0) & np.isfinite(self.mean)


@dataclass(frozen=True)
class Slope:
    """A claimed growth, size^exponent log(size)^log_power, times a constant.

    Examples
    --------
    >>> from calibrant.report.figures import Slope
    >>> Slope("T^(1/3)", 1 / 3).at([8.0, 64.0]).round(6)
    array([2., 4.])
    """

    label: str
    exponent: float
    log_power: float = 0.0

    def at(self, sizes: npt.ArrayLike) -> Floats:
        """Return the growth at some sizes, without the constant."""
        x = np.asarray(sizes, dtype=np.float64)
        # Below e the logarithm would make small sizes vanish, one segment for one.
        grown: Floats = x**self.exponent * np.log(np.maximum(x, np.e)) ** self.log_power
        return grown


@dataclass(frozen=True, eq=False)
class ErrorGrowth:
    """Error against T, C or K on logarithmic axes: a power law is a straight line.

    Each forecaster's line is its mean error over the seeds, and its band one standard deviation to
    either side. A thin grey line is a claimed slope: only its steepness means something, its
    height is chosen so that it starts where the highest line starts.

    Attributes
    ----------
    curves : dict of str to GrowthCurve
        The numbers, by the name of the forecaster.
    axis : {"T", "C", "K"}
        What the error grows with.
    measure : str
        Which error.
    slopes : tuple of Slope
        Claimed growths, as guides for the eye.

    Examples
    --------
    >>> from calibrant.report.figures import ErrorGrowth, Slope
    >>> figure = ErrorGrowth.from_errors(
    ...     {"zoom": {100: [1.0, 3.0], 1000: [4.0, 4.0]}}, slopes=[Slope("T^(1/3)", 1 / 3)])
    >>> ax = figure.plot()
    >>> ax.get_xscale(), ax.get_xlabel()
    ('log', 'rounds T')
    """

    curves: dict[str, GrowthCurve]
    axis: str = "T"
    measure: str = "Cal2"
    slopes: tuple[Slope, ...] = field(default=())

    @classmethod
    def from_errors(
        cls,
        errors: Mapping[str, Mapping[float, npt.ArrayLike]],
        *,
        axis: str = "T",
        measure: str = "Cal2",
        slopes: Sequence[Slope] = (),
    ) -> ErrorGrowth:
        """Compute the curves; ``errors[name][size]`` holds the error of each seed."""
        check_choice("axis", axis, tuple(AXES))
        if not errors:
            raise ValueError("errors must name at least one forecaster, got none")
        return cls({n: _curve(n, e) for n, e in errors.items()}, axis, measure, tuple(slopes))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves, on `ax` or on new axes, and return the axes."""
        with styled():
            from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

            ax = ax or new_axes()
            ax.set(xscale="log", yscale="log", xlabel=AXES[self.axis], ylabel=self.measure)
            for position, (name, curve) in enumerate(self.curves.items()):
                look, some = SERIES[position % len(SERIES)], curve.drawable
                x, mean, spread = curve.sizes[some], curve.mean[some], curve.spread[some]
                ax.plot(
                    x, mean, color=look.color, linestyle=look.dashes, marker=look.marker,
                    markerfacecolor=look.color if position == 0 else PAPER, label=name, zorder=3,
                )  # fmt: skip
                # Below, a band that reaches zero ends at a tenth of the mean: the axis has no zero.
                low = np.maximum(mean - spread, mean / 10.0)
                ax.fill_between(
                    x, low, mean + spread, color=look.color, alpha=0.16, linewidth=0, zorder=2
                )
            for number, slope in enumerate(self.slopes):
                self._draw_slope(ax, slope, number)
            for axis in (ax.xaxis, ax.yaxis):
                left, right = axis.get_view_interval()
                # Less than two decades show too few powers of ten to read a number off.
                if right < 100 * left:
                    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(plain_number)
                axis.set_minor_formatter(NullFormatter())
            legend_above(ax)
        return ax

    def _draw_slope(self, ax: Axes, slope: Slope, number: int) -> None:
        sizes = np.concatenate([curve.sizes for curve in self.curves.values()])
        x = np.geomspace(sizes.min(), sizes.max(), 50)
        starts = [float(curve.mean[0]) for curve in self.curves.values() if len(curve.mean)]
        first = max(filter(np.isfinite, starts), default=0.0)
        # Each a little above the last, so that equal slopes do not hide each other.
        height = 1.6 * 1.5**number * (first or 1.0) / slope.at(x)[0]
        y = height * slope.at(x)
        ax.plot(x, y, color=MUTED, linewidth=0.9, linestyle=(0, (6, 3)), zorder=1)
        ax.annotate(
            slope.label, (x[-1], y[-1]), (4, 0), textcoords="offset points", color=MUTED,
            fontsize=9, ha="left", va="center", annotation_clip=False,
        )  # fmt: skip


def _curve(name: str, errors: Mapping[float, npt.ArrayLike]) -> GrowthCurve:
    """Return mean and spread of each size, sizes ascending."""
    if not errors:
        raise ValueError(f"errors of {name!r} must hold at least one size, got none")
    sizes = sorted(errors)
    if not sizes[0] > 0:
        raise ValueError(f"errors of {name!r} must have sizes above 0, got {sizes[0]}")
    seeds = [as_series(errors[size], f"errors of {name!r} at {size:g}") for size in sizes]
    if not all(len(values) for values in seeds):
        raise ValueError(f"errors of {name!r} must hold at least one seed of each size")
    return GrowthCurve(
        np.array(sizes, dtype=np.float64),
        np.array([values.mean() for values in seeds]),
        # Errors that are not all finite have no spread.
        np.array([values.std() if np.isfinite(values).all() else np.inf for values in seeds]),
    )
