"""How numbers and figures look: one rule for digits, one style, files that never differ.

The colours are those of Okabe and Ito, which readers with any common kind of colour blindness can
tell apart. They are never the only difference: each series has its own dashes and its own marker.
Nothing here changes matplotlib's global settings, and nothing needs a screen.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Text and axes; secondary text; grid lines; the background.
INK, MUTED, RULE, PAPER = "#1b1f24", "#636b75", "#d8dde3", "#fefefe"


class Series(NamedTuple):
    """What tells one line from the others, in colour and in grey."""

    color: str
    dashes: str | tuple[int, tuple[int, ...]]
    marker: str
    fill: str = PAPER  # of a marker: only those of the first series are filled, also in grey


#: By position; after seven they repeat.
SERIES = (
    Series("#0072b2", "-", "o", "#0072b2"),
    Series("#d55e00", (0, (5, 2)), "s"),
    Series("#009e73", (0, (1, 1)), "^"),
    Series("#cc79a7", (0, (5, 1, 1, 1)), "D"),
    Series("#e69f00", (0, (3, 1, 1, 1, 1, 1)), "v"),
    Series("#56b4e9", (0, (8, 3)), "P"),
    Series("#5a5a5a", (0, (2, 3)), "X"),
)

#: A model's scores and what became of them look the same in every figure, by these names.
BEFORE_AFTER = {"raw": SERIES[1], "calibrated": SERIES[0]}

#: What each colour becomes on a dark page.
ON_DARK = {
    INK: "#e6e9ed", MUTED: "#a2abb6", RULE: "#3a424c", PAPER: "#14181d",
    "#0072b2": "#4fa3dd", "#d55e00": "#f08a4b", "#009e73": "#3cc79a", "#cc79a7": "#e09cc4",
    "#e69f00": "#f2b632", "#56b4e9": "#9ad4f7", "#5a5a5a": "#b5b5b5",
}  # fmt: skip

SETTINGS: dict[str, Any] = {
    "text.usetex": False,
    "font.size": 10, "axes.labelsize": 10, "xtick.labelsize": 9, "ytick.labelsize": 9,
    "legend.fontsize": 9, "legend.frameon": False, "legend.handlelength": 2.6,
    "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": MUTED, "axes.linewidth": 0.8, "axes.facecolor": PAPER,
    "figure.facecolor": PAPER, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": RULE, "grid.linewidth": 0.6,
    "lines.linewidth": 1.6, "lines.markersize": 5, "xtick.minor.visible": False,
    "ytick.minor.visible": False, "axes.formatter.use_mathtext": False,
    # The same numbers give the same file, byte for byte.
    "svg.hashsalt": "calibrant",
}  # fmt: skip


def look_of(looks: Mapping[str, Series], name: str, position: int) -> Series:
    """Return how a series looks: as `looks` says or, where it does not, by name or position."""
    return (BEFORE_AFTER | dict(looks)).get(name, SERIES[position % len(SERIES)])


class Drawable(Protocol):
    """A figure that knows its numbers and can draw them."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw, on the axes given or on new ones, and return them."""


def show_number(value: float, *, fine: bool = False) -> str:
    """Return a number as tables and sentences show it.

    Whole numbers are whole. Others have three significant digits and all that stand before the
    point; or, `fine`, four decimals below 10 and one from there on, so that numbers below each
    other line up and a small change is seen, and three digits that count below 0.001.

    Examples
    --------
    >>> [show_number(value) for value in (0.01234, 1.5, 23.44, 1725.04, 53_877, float("inf"))]
    ['0.0123', '1.5', '23.4', '1,725', '53,877', 'infinite']
    >>> [show_number(value, fine=True) for value in (0.01234, 1.5, 23.44, 1725.04, 53_877)]
    ['0.0123', '1.5000', '23.4', '1,725.0', '53,877']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == int(value):
        return f"{value:,.0f}"
    if fine and 1e-9 < abs(value) < 0.001:
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"
    if fine:
        return f"{value:,.1f}" if abs(value) >= 10.0 else f"{value:.4f}"
    if abs(value) < 1e-9:
        return "0"  # what rounding left of it
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


@contextmanager
def styled(**settings: Any) -> Iterator[None]:
    """Draw or save in the style of this package, inside a ``with``."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise ImportError(
            "figures need matplotlib, which is not installed; run `pip install 'calibrant[plot]'`"
        ) from None
    chosen: Any = {**SETTINGS, **settings}
    with mpl.rc_context(chosen):
        yield


def new_axes(width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes of a new figure, of a size in inches, that no window will show."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def drawn(figure: Drawable | Figure, *size: float) -> Figure:
    """Return the matplotlib figure of something that can be drawn, in a size in inches if given."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    if isinstance(figure, Figure):
        return figure
    if not hasattr(figure, "plot"):
        raise ValueError(
            f"figure must be a figure of calibrant or of matplotlib, got {type(figure).__name__}"
        )
    with styled():
        sheet = figure.plot(new_axes(*size) if size else None).get_figure(root=True)
    assert isinstance(sheet, Figure)
    return sheet


def as_svg(figure: Drawable | Figure, *, text: bool = False) -> str:
    """Return a figure as SVG, always the same for the same numbers.

    Letters are drawn as shapes, which look the same everywhere; as text, readers can select them
    and have them read aloud, and the file is smaller.
    """
    with styled(**{"svg.fonttype": "none" if text else "path"}):
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn(figure).savefig(buffer, format="svg", metadata=nothing)
    return "\n".join(map(str.rstrip, buffer.getvalue().splitlines())) + "\n"


def as_png(figure: Drawable | Figure, *, dots_per_inch: int = 160) -> bytes:
    """Return a figure as PNG, always the same for the same numbers."""
    with styled():
        buffer = io.BytesIO()
        drawn(figure).savefig(buffer, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return buffer.getvalue()


def legend_above(ax: Axes) -> None:
    """Name the series above the axes, where nothing is hidden, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        width = ax.get_figure(root=True).get_size_inches()[0] * ax.get_position().width  # type: ignore[union-attr]
        # About 16 letters of this size fill an inch; a line and the gaps take the room of eight.
        columns = int(16 * width / (max(map(len, labels)) + 8))
        ax.legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0),
            ncols=max(1, min(columns, len(labels))), borderaxespad=0.3, columnspacing=1.4,
        )  # fmt: skip


def show_share(value: float, places: int = 3) -> str:
    """Return a share, or a loss, with some decimals or, a small one, with more.

    One digit fewer than `places` counts, but two at least.

    Examples
    --------
    >>> [show_share(value) for value in (0.3881, 0.0342, 0.00512, 0.00097, 0.0)]
    ['0.388', '0.034', '0.0051', '0.00097', '0.000']
    >>> [show_share(value, 4) for value in (0.17312, 0.00098765, 0.0, float("inf"))]
    ['0.1731', '0.000988', '0.0000', 'infinite']
    """
    if math.isinf(value):
        return "infinite"
    if value != 0.0:
        digits = max(places - 1, 2)
        places = max(places, min(digits - 1 - math.floor(math.log10(abs(value))), 9))
    return f"{value:.{places}f}"


def short_number(value: float, _position: object = None) -> str:
    """Return a number in few letters, for small places in a figure.

    Examples
    --------
    >>> [short_number(value) for value in (0.2421, 16.0, 4480, 20_000, 1.5e6)]
    ['0.242', '16', '4.48k', '20k', '1.5M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if 0.9995 * size <= value < math.inf:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def plain_number(value: float, _position: object = None) -> str:
    """Return a tick's label in plain digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
