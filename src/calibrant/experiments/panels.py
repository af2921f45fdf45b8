"""Panels of figures with a shared legend: the growth of errors, and the paper's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.experiments import Claim
from calibrant.experiments.results import ERRORS
from calibrant.report.figures import ErrorGrowth, GrowthCurve, Slope
from calibrant.report.style import Drawable, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.9, 2.9  # of a panel among several, in inches
ALONE = 6.4, 3.8
#: The slopes that theory has for an error: on a uniform grid in T, for Restarting in C and K.
SLOPES = {
    ("cal1", "T"): Slope("T^(2/3)", 2 / 3),
    ("cal2", "T"): Slope("T^(1/3)", 1 / 3),
    ("cal1", "C"): Slope("C^(1/3)", 1 / 3),
    ("cal2", "C"): Slope("C^(1/3)", 1 / 3),
    ("cal1", "K"): Slope("K^(1/2)", 1 / 2),
    ("cal2", "K"): Slope("K", 1.0),
}
#: The value of `measure` that a name leaves out, by the error that is shown.
OWN_MEASURE = {"Cal1": "l1", "Cal2": "l2", "PCal2": "pseudo_l2", "PKLCal": "pseudo_kl"}
#: Parameters that names leave out, since they only say what the claim assumes.
TOLD = ("deviation", "horizon")


def panels(figures: Mapping[str, Drawable], *, columns: int = 2, legend: bool = True) -> Figure:
    """Draw figures side by side, each below its title, with a shared legend on top.

    They must have the same series in the same order, since one legend names them all.
    """
    with styled():
        from matplotlib.figure import Figure  # noqa: PLC0415

        columns = min(columns, len(figures))
        rows = -(-len(figures) // columns)
        width, height = (WIDTH * columns, HEIGHT * rows) if len(figures) > 1 else ALONE
        sheet = Figure(figsize=(width, height + 0.4), layout="constrained")
        named: dict[str, Any] = {}
        for position, (title, figure) in enumerate(figures.items(), 1):
            ax = figure.plot(ax=sheet.add_subplot(rows, columns, position))
            ax.set_title(title, loc="left", fontsize=9.5, fontweight="bold")
            handles, labels = ax.get_legend_handles_labels()
            named = {**dict(zip(labels, handles, strict=True)), **named}
            own = ax.get_legend()
            if own is not None:
                own.remove()
        if not legend:
            return sheet
        fit = int(16 * width / (max(map(len, named), default=1) + 8))
        sheet.legend(
            list(named.values()), list(named), loc="outside upper left",
            ncols=max(1, min(fit, len(named))),
        )  # fmt: skip
    return sheet


def growth_figures(
    errors: Mapping[str, Mapping[str, Mapping[float, list[float]]]], measure: str, axis: str
) -> dict[str, ErrorGrowth]:
    """Return a figure of ``errors[title][forecaster][size]`` for each title with any to draw."""
    slopes = [SLOPES[measure, axis]] if (measure, axis) in SLOPES else []
    figures = {
        title: ErrorGrowth.from_errors(curves, axis=axis, measure=ERRORS[measure], slopes=slopes)
        for title, curves in errors.items()
    }
    return {
        title: figure
        for title, figure in figures.items()
        if any(curve.drawable.any() for curve in figure.curves.values())
    }


def omissions(figures: Mapping[str, ErrorGrowth]) -> str:
    """Say what the figures leave out, if they do."""
    curves = [curve for figure in figures.values() for curve in figure.curves.values()]
    whole = all(curve.drawable.all() for curve in curves)
    return "" if whole else " What is 0 or infinite is not drawn."


def claim_panels(claims: Sequence[Claim], axis: str) -> dict[str, ErrorGrowth]:
    """Return the figure of each rate claimed in T, C or K, by its title.

    Forecasters with the printed constants are left out if there are others: their errors are
    so much larger that the rest could not be distinguished.
    """
    chosen = [claim for claim in claims if claim.axis == axis]
    chosen = [each for each in chosen if each.parameters.get("constants") != "paper"] or chosen
    names = list(dict.fromkeys(claim_name(claim) for claim in chosen))
    groups: dict[str, list[Claim]] = {}
    for claim in chosen:
        groups.setdefault(f"{claim.error}, {claim.situation}", []).append(claim)
    return {title: _panel(group, names) for title, group in groups.items()}


def claim_name(claim: Claim) -> str:
    """Return the name of a claim's line in a figure whose title names the error."""
    words = [
        "as printed" if value == "paper" else value
        for key, value in claim.parameters.items()
        if key not in TOLD and value != OWN_MEASURE.get(claim.error)
    ]
    return ", ".join([claim.kind, *words])


def _panel(claims: Sequence[Claim], names: Sequence[str]) -> ErrorGrowth:
    """Return one panel; every name has its place in it, so that looks agree between panels."""
    nothing = np.array([])
    curves = dict.fromkeys(names, GrowthCurve(nothing, nothing, nothing))
    for claim in claims:
        curves[claim_name(claim)] = GrowthCurve(
            *(np.array(values, dtype=np.float64) for values in (claim.x, claim.mean, claim.spread))
        )
    first = claims[0]
    slopes = {
        (claim.claimed_exponent, claim.log_power): Slope(
            "claimed", claim.claimed_exponent, claim.log_power
        )
        for claim in claims
    }
    # Rates that differ only in a logarithm share a guide, since they cannot be distinguished by
    # eye.
    return ErrorGrowth(curves, first.axis, first.error, (slopes[max(slopes)],))
