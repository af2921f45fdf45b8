"""Figures inside a page: as SVG whose colours have names, which a dark page gives other values."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from calibrant.report.style import INK, MUTED, ON_DARK, PAPER, RULE, SERIES, Drawable, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The name that each colour has in the style sheet.
VARIABLES = {
    INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper",
    **{look.color: f"--series-{position}" for position, look in enumerate(SERIES, 1)},
}  # fmt: skip
#: What a style sheet says of them, for a light page and for a dark one.
LIGHT = "; ".join(f"{name}: {color}" for color, name in VARIABLES.items())
DARK = "; ".join(f"{name}: {ON_DARK[color]}" for color, name in VARIABLES.items())

#: Lines of a drawing, and digits in them that no screen shows: beyond a hundredth of a point.
PATH = re.compile(r' d="[^"]*"')
DECIMALS = re.compile(r"(?<=\d\.\d\d)\d+")


def inline_svg(figure: Drawable | Figure, name: str, alt: str) -> str:
    """Return a figure as an element of a page on which no other has this name.

    `alt` describes it to readers who cannot see it. Its width in pixels is the variable
    ``--width`` of the element.
    """
    svg = as_svg(figure, text=True)
    # Inside HTML, neither prolog nor namespaces are needed, and ids must be unique on the page.
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg[svg.index("<svg") :])
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)
    svg = PATH.sub(lambda path: DECIMALS.sub("", path[0]), svg)
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    opening, rest = svg.split(">", 1)
    size = re.search(r'width="([\d.]+)pt"', opening)
    assert size is not None, "matplotlib says how wide a figure is"
    pixels = float(size[1]) / 0.75  # of CSS: 3/4 of a point each
    opening = re.sub(r' (width|height|version)="[^"]*"', "", opening)
    label = html.escape(alt)
    return f'{opening} role="img" aria-label="{label}" style="--width: {pixels:.0f}px">{rest}'
