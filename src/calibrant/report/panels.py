"""Several figures of one kind beside each other, with one legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calibrant.report.style import Drawable, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.9, 2.9  # of a panel among several, in inches
ALONE = 6.4, 3.8


def panels(figures: Mapping[str, Drawable], *, columns: int = 2, legend: bool = True) -> Figure:
    """Draw figures beside each other, each below its title, with the legend they share on top.

    They must have the same series in the same order, since one legend names them all; without
    a legend, the titles must say what there is to know.

    Examples
    --------
    >>> from calibrant.report.figures import ErrorGrowth
    >>> growth = ErrorGrowth.from_errors({"zoom": {100: [1.0, 3.0], 1000: [4.0, 4.0]}})
    >>> len(panels({"iid": growth, "drift": growth}).axes)
    2
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
