"""How errors grow, as a report draws it: with the slope that theory has for it."""

from __future__ import annotations

from collections.abc import Mapping

from calibrant.report.figures import ErrorGrowth, Slope

#: How steep theory says that an error is: on a uniform grid in T, for Restarting in C and K.
SLOPES = {
    ("cal1", "T"): ("T^(2/3)", 2 / 3),
    ("cal2", "T"): ("T^(1/3)", 1 / 3),
    ("cal1", "C"): ("C^(1/3)", 1 / 3),
    ("cal2", "C"): ("C^(1/3)", 1 / 3),
    ("cal1", "K"): ("K^(1/2)", 1 / 2),
    ("cal2", "K"): ("K", 1.0),
}


def growth_figures(
    errors: Mapping[str, Mapping[str, Mapping[float, list[float]]]],
    measure: str,
    axis: str,
    name: str,
) -> dict[str, ErrorGrowth]:
    """Return a figure for each title that has something to draw.

    Parameters
    ----------
    errors : mapping
        ``errors[title][forecaster][size]`` holds the error of each seed.
    measure, name : str
        Which error, and what readers call it.
    axis : {"T", "C", "K"}
        What the sizes are.

    Examples
    --------
    >>> errors = {"iid": {"zoom": {100: [2.0]}}, "drift": {"zoom": {100: [float("inf")]}}}
    >>> list(growth_figures(errors, "klcal", "T", "KLCal"))
    ['iid']
    """
    figures = {
        title: ErrorGrowth.from_errors(curves, axis=axis, measure=name, slopes=guide(measure, axis))
        for title, curves in errors.items()
    }
    return {
        title: figure
        for title, figure in figures.items()
        if any(curve.drawable.any() for curve in figure.curves.values())
    }


def what_is_missing(figures: Mapping[str, ErrorGrowth]) -> str:
    """Say what the figures leave out, if they do.

    Examples
    --------
    >>> what_is_missing({"iid": ErrorGrowth.from_errors({"k29": {9: [float("inf")], 99: [1.0]}})})
    ' What is 0 or infinite is not drawn.'
    """
    curves = [curve for figure in figures.values() for curve in figure.curves.values()]
    whole = all(curve.drawable.all() for curve in curves)
    return "" if whole else " What is 0 or infinite is not drawn."


def guide(measure: str, axis: str) -> list[Slope]:
    """Return the slope to hold an error against, where the theory has one.

    Examples
    --------
    >>> guide("cal2", "C")
    [Slope(label='C^(1/3)', exponent=0.3333333333333333, log_power=0.0)]
    """
    power = SLOPES.get((measure, axis))
    return [] if power is None else [Slope(*power)]
