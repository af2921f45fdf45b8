"""One page that holds everything: text, figures and tables in a single HTML file."""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from calibrant import __version__
from calibrant.report.style import INK, MUTED, ON_DARK, PAPER, RULE, SERIES, Drawable, as_svg
from calibrant.tables import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The name that each colour has in the style sheet; a dark page gives it another value.
VARIABLES = {
    INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper",
    **{look.color: f"--series-{position}" for position, look in enumerate(SERIES, 1)},
}  # fmt: skip

DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="calibrant {version}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<div class="lead">
{lead}
</div>
{contents}</header>
<main>
{body}
</main>
<footer>Written by calibrant {version}.</footer>
</body>
</html>
"""


class Page:
    """A page of text, figures and tables that needs nothing but itself.

    One HTML file: style and figures are inside, nothing is fetched, no script runs. It follows
    the reader's choice of light or dark, fits a phone, and prints. All text is escaped. The same
    content gives the same file.

    Parameters
    ----------
    title : str
        The heading.
    lead : str or sequence of str
        What to look at and what it means, at the top: a text, or a text and then points of a list.

    Examples
    --------
    >>> from calibrant.report import Page
    >>> page = Page("Rain", "It rained less than was said.")
    >>> page.section("In numbers", "Of 100 days called 70 %, 61 were wet.")
    >>> page.table(["said", "happened"], [["70 %", 0.61]], "All days of the year.")
    >>> '<td class="number">0.61</td>' in page.html()
    True
    """

    def __init__(self, title: str, lead: str | Sequence[str]) -> None:
        self._title = title
        self._lead = lead
        self._sections: list[str] = []
        self._parts: list[str] = []
        self._drawn = 0

    def section(self, title: str, text: str | Sequence[str] = "") -> None:
        """Begin a section; the table of contents leads to it.

        The text is a text, or a text and then points of a list. A blank line in it begins a
        paragraph.
        """
        self._sections.append(title)
        self._parts.append(f'<h2 id="section-{len(self._sections)}">{html.escape(title)}</h2>')
        self.text(text)

    def text(self, text: str | Sequence[str]) -> None:
        """Add paragraphs, or a text and then points of a list."""
        if text:
            self._parts.append(_prose(text))

    def figure(self, figure: Drawable | Figure, caption: str, alt: str) -> None:
        """Add a figure, of this package or of matplotlib.

        The caption is shown below it; `alt` says what it shows to whoever cannot see it.
        """
        self._drawn += 1
        drawing = _inline(as_svg(figure, text=True), f"f{self._drawn}-", alt)
        self._parts.append(
            f'<figure>\n<div class="drawing" tabindex="0" role="group" '
            f'aria-label="Figure {self._drawn}">\n{drawing}</div>\n'
            f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>"
        )

    def table(
        self, headers: Sequence[str], rows: Sequence[Sequence[str | float]], caption: str
    ) -> None:
        """Add a table; numbers are set right, the first column names its row."""
        for position, row in enumerate(rows):
            if len(row) != len(headers):
                raise ValueError(
                    f"rows must have {len(headers)} cells, one a header, "
                    f"got {len(row)} in row {position}"
                )
        numeric = [
            bool(rows) and all(_is_number(row[at]) for row in rows) for at in range(len(headers))
        ]
        head = "".join(
            f'<th scope="col" class="{"number" if right else "words"}">{html.escape(name)}</th>'
            for name, right in zip(headers, numeric, strict=True)
        )
        body = "\n".join(f"<tr>{''.join(map(_cell, range(len(row)), row))}</tr>" for row in rows)
        self._parts.append(
            f'<div class="table" tabindex="0" role="group" aria-label="Table">\n<table>\n'
            f"<caption>{html.escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )

    def html(self) -> str:
        """Return the whole page."""
        links = "".join(
            f'<li><a href="#section-{at}">{html.escape(title)}</a></li>\n'
            for at, title in enumerate(self._sections, 1)
        )
        contents = f'<nav aria-label="Contents">\n<ol>\n{links}</ol>\n</nav>\n' if links else ""
        return DOCUMENT.format(
            title=html.escape(self._title),
            lead=_prose(self._lead),
            contents=contents,
            body="\n".join(self._parts),
            style=_style(),
            version=html.escape(__version__),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        text = self.html().encode()
        with replacing(path) as file:
            file.write(text)


def show_number(value: float) -> str:
    """Return a number with three figures that mean something.

    Examples
    --------
    >>> [show_number(value) for value in (0.01234, 1.5, 23.44, 261_877, float("inf"))]
    ['0.0123', '1.5', '23.4', '261,877', 'infinite']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _prose(text: str | Sequence[str]) -> str:
    """Return paragraphs, and a list of all strings but the first."""
    first, *points = [text] if isinstance(text, str) else text
    paragraphs = "\n".join(f"<p>{html.escape(part)}</p>" for part in first.split("\n\n"))
    if not points:
        return paragraphs
    items = "\n".join(f"<li>{html.escape(point)}</li>" for point in points)
    return f"{paragraphs}\n<ul>\n{items}\n</ul>"


def _cell(position: int, value: str | float) -> str:
    """Return one cell of a table."""
    text = html.escape(value if isinstance(value, str) else show_number(value))
    if position == 0 and isinstance(value, str):
        return f'<th scope="row">{text}</th>'
    return f'<td class="number">{text}</td>' if _is_number(value) else f"<td>{text}</td>"


def _is_number(value: str | float) -> bool:
    """Tell numbers, also those that come as text in digits of their own."""
    return not isinstance(value, str) or re.fullmatch(r"[-+]?[\d,]*\.?\d+", value) is not None


def _inline(svg: str, prefix: str, alt: str) -> str:
    """Return an SVG file as an element of a page that holds others."""
    # An HTML page needs neither prolog nor namespaces, and every id of it must be its own.
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", svg)
    for color, name in VARIABLES.items():
        svg = svg.replace(color, f"var({name})")
    opening, rest = svg.split(">", 1)
    size = re.search(r'width="([\d.]+)pt"', opening)
    opening = re.sub(r' (width|height|version)="[^"]*"', "", opening)
    assert size is not None, "matplotlib says how wide a figure is"
    pixels = float(size[1]) / 0.75  # of which a point is 3/4; the style sheet goes by them
    label = html.escape(alt)
    return f'{opening} role="img" aria-label="{label}" style="--width: {pixels:.0f}px">{rest}'


def _style() -> str:
    """Return the style sheet with its colours."""
    light = "; ".join(f"{name}: {color}" for color, name in VARIABLES.items())
    dark = "; ".join(f"{name}: {ON_DARK[color]}" for color, name in VARIABLES.items())
    sheet = resources.files("calibrant.report").joinpath("page.css").read_text("utf-8")
    return sheet.replace("LIGHT", light).replace("DARK", dark)
