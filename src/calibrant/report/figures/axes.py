"""Axes of time and of probabilities near 0 or 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from calibrant._checks import Floats
from calibrant.report.style import BEFORE_AFTER, plain_number
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where a logit axis may have a number.
PROBABILITIES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-5)
#: Inches of a sheet, for a phone, on which matplotlib lets numbers of six digits touch.
NARROW = 5.0


def time_axis(ax: Axes, moments: Moments | None) -> None:
    """Show dates and times, numbers of a clock, or the number of rounds."""
    if moments is None or moments.dtype.kind != "M":
        ax.set_xlabel("rounds" if moments is None else "time")
        ax.xaxis.set_major_formatter(plain_number)
        sheet = ax.get_figure(root=True)
        if sheet is not None and sheet.get_figwidth() < NARROW:
            ax.locator_params(axis="x", nbins=3)
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415

    locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)


def chance_band(ax: Axes, when: Moments, low: Floats | float, high: Floats) -> None:
    """Shade what chance explains."""
    ax.fill_between(
        when, low, high, color=BEFORE_AFTER["calibrated"].color, alpha=0.18, linewidth=0,
        label="chance explains", zorder=1,
    )  # fmt: skip


def logit_axis(ax: Axes, axis: Literal["x", "y"], low: float, high: float) -> None:
    """Give the odds, not the probabilities, equal room between two ends."""
    from matplotlib.ticker import FixedLocator, NullLocator  # noqa: PLC0415

    ticks = [tick for tick in PROBABILITIES if low <= tick <= high]
    which = ax.xaxis if axis == "x" else ax.yaxis
    if axis == "x":
        ax.set_xscale("logit", nonpositive="clip")
        ax.set_xlim(low, high)
    else:
        ax.set_yscale("logit", nonpositive="clip")
        ax.set_ylim(low, high)
    which.set_major_locator(FixedLocator(ticks))
    which.set_minor_locator(NullLocator())
    which.set_major_formatter(percent)


def logit_ends(values: Floats) -> tuple[float, float]:
    """Return the ends of a logit axis that shows all these probabilities but 0 and 1."""
    inside = values[(values > 0.0) & (values < 1.0)]
    if len(inside) == 0:
        return 0.01, 0.99
    low, high = float(inside.min()), float(inside.max())
    # At least a factor of ten apart, with room at both ends.
    return max(min(low / 2.0, high / 20.0), 1e-7), min(1.0 - (1.0 - high) / 2.0, 2.0 * high)


def percent(value: float, _position: object = None) -> str:
    """Return a probability in percent, in as few digits as it takes.

    Examples
    --------
    >>> [percent(value) for value in (0.0001, 0.1, 0.999)]
    ['0.01%', '10%', '99.9%']
    """
    return f"{100.0 * value:.6g}%"
