"""One page that holds everything: text, figures and tables in a single HTML file."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from calibrant import __version__
from calibrant.report.figures.axes import logit_ends
from calibrant.report.figures.reliability import ReliabilityDiagram, seen_in
from calibrant.report.inline import DARK, LIGHT, inline_svg
from calibrant.report.style import Drawable, Series, drawn, show_number
from calibrant.report.verdict import Verdict, Word
from calibrant.tables import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.measures import ReliabilityTable

#: A number as `show_number` writes it, or as text with other digits.
NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]\d+)?|-?infinite|–")

#: An option of a command.
OPTION = re.compile(r"--[a-z][a-z-]*")

#: The class of each verdict, and the sign that says it without colour.
SIGNS: dict[Word, tuple[str, str]] = {
    "better": ("better", "&#10003;"),
    "no different": ("same", "="),
    "worse": ("worse", "!"),
    "cannot tell": ("unknown", "?"),
    "doubtful": ("unknown", "!"),
}

#: Sizes in inches of a figure that fills the page, and of the same for a phone.
WIDE, NARROW = (7.6, 3.3), (3.7, 3.5)
#: A table with more columns has no room on a phone: there, each row becomes a list.
MANY = 4

FIGURE = "<figure>\n{}<figcaption>{}</figcaption>\n</figure>"
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
{verdict}<div class="lead">
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


def style_sheet() -> str:
    """Return the style sheet of every page, with the colours of the figures."""
    sheet = resources.files("calibrant.report").joinpath("page.css").read_text("utf-8")
    return sheet.replace("LIGHT", LIGHT).replace("DARK", DARK)


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
    verdict : Verdict, optional
        What stands at the top, as a word, a sign and a colour.

    Examples
    --------
    >>> from calibrant.report import Page
    >>> page = Page("Rain", "It rained less than was predicted.")
    >>> page.section("In numbers", "Of 100 days called 70%, 61 were wet.")
    >>> page.table(["predicted", "observed"], [["70%", 0.61]], "All days of the year.")
    >>> '<td class="number">0.61</td>' in page.html()
    True
    """

    def __init__(
        self, title: str, lead: str | Sequence[str], verdict: Verdict | None = None
    ) -> None:
        self._title = title
        self._verdict = verdict
        self._lead = lead
        self._links: list[str] = []
        self._parts: list[str] = []
        self._drawn = 0

    def section(self, title: str, text: str | Sequence[str] = "") -> None:
        """Begin a section; the table of contents leads to it.

        The text is a text, or a text and then points of a list. A blank line in it begins a
        paragraph.
        """
        name, title = f"section-{len(self._links) + 1}", html.escape(title)
        self._links.append(f'<li><a href="#{name}">{title}</a></li>\n')
        self._parts.append(f'<h2 id="{name}">{title}</h2>')
        if text:
            self._parts.append(prose(text))

    def text(self, text: str | Sequence[str]) -> None:
        """Add paragraphs, or a text and then points of a list."""
        if text:
            self._parts.append(prose(text))

    def figure(
        self,
        figure: Drawable | Figure,
        caption: str,
        alt: str,
        *,
        narrow: Drawable | Figure | None = None,
    ) -> None:
        """Add a figure, of this package or of matplotlib.

        The caption is shown below it; `alt` describes it to readers who cannot see it. `narrow` is
        the same drawn for a phone; without it, a wide figure scrolls there in a box of its own.
        """
        drawn = self._drawing(figure, alt, "wide" if narrow else "")
        if narrow is not None:
            drawn += self._drawing(narrow, alt, "narrow")
        self._parts.append(FIGURE.format(drawn, html.escape(caption)))

    def figures(self, figures: Mapping[str, Drawable | Figure], caption: str) -> None:
        """Add figures, by their descriptions: beside each other, on a phone below each other."""
        drawn = "".join([self._drawing(figure, alt, "part") for alt, figure in figures.items()])
        pair = f'<div class="pair">\n{drawn}</div>\n'
        self._parts.append(FIGURE.format(pair, html.escape(caption)))

    def wide_figure(self, figure: Drawable, caption: str, alt: str) -> None:
        """Add a figure that fills the page, and on a phone is drawn for that."""
        self.figure(drawn(figure, *WIDE), caption, alt, narrow=drawn(figure, *NARROW))

    def reliability(
        self,
        tables: Mapping[str, ReliabilityTable],
        text: str,
        *,
        looks: Mapping[str, Series],
    ) -> None:
        """Add the section of observed against predicted, a diagram a table, beside each other.

        Where bins are of equal mass, the axes are those of the log-odds.
        """
        self.section(
            "Observed against predicted",
            "Points on the diagonal are calibrated: of what was called 70%, 70% was observed. "
            + text,
        )
        is_crowded = {table.scheme for table in tables.values()} == {"mass"}
        ends = logit_ends(seen_in(tables.values())) if is_crowded else None
        figures: dict[str, Drawable | Figure] = {}
        off = []
        for name, table in tables.items():
            used = int((table.count > 0).sum())
            off.append(f"{int(table.miscalibrated.sum())} of {used} for {name}")
            diagram = ReliabilityDiagram({name: table}, ends, looks)
            size = (4.2, 5.5 if ends is None else 4.3)
            figures[f"Reliability of {name}, {int(table.count.sum()):,} rounds."] = drawn(
                diagram, *size
            )
        self.figures(
            figures, f"Points off the diagonal by more than chance explains: {'; '.join(off)}."
        )

    def made(self, how: Mapping[str, str]) -> None:
        """Add the section that says how the page was made."""
        self.section("How this was made")
        rows = {**how, "calibrant": __version__, "numpy": np.__version__}
        self.table(["", "this run"], list(rows.items()), "With the same input, the same page.")

    def _drawing(self, figure: Drawable | Figure, alt: str, kind: str) -> str:
        """Return a figure in its box; `kind` says on which pages it is shown."""
        self._drawn += 1
        svg = inline_svg(figure, f"f{self._drawn}", alt)
        return (
            f'<div class="{f"drawing {kind}".strip()}" tabindex="0" role="group" '
            f'aria-label="Figure {self._drawn}">\n{svg}</div>\n'
        )

    def table(
        self, headers: Sequence[str], rows: Sequence[Sequence[str | float]], caption: str
    ) -> None:
        """Add a table; numbers are set right, the first column names its row.

        On a phone, each row of a table with many columns becomes a list.
        """
        for position, row in enumerate(rows):
            if len(row) != len(headers):
                raise ValueError(
                    f"rows must have {len(headers)} cells, one per header, "
                    f"got {len(row)} in row {position}"
                )
        is_many = len(headers) > MANY
        numeric, body = [bool(rows)] * len(headers), []
        for row in rows:
            body.append("<tr>")
            for at, value in enumerate(row):
                text = value if isinstance(value, str) else show_number(value)
                is_number = NUMBER.fullmatch(text) is not None
                numeric[at] = numeric[at] and is_number
                if at == 0 and isinstance(value, str):
                    body.append(f'<th scope="row">{html.escape(text)}</th>')
                else:
                    side = ' class="number"' if is_number else ""
                    label = f' data-label="{html.escape(headers[at])}"' if is_many else ""
                    body.append(f"<td{side}{label}>{html.escape(text)}</td>")
            body.append("</tr>\n")
        head, kind = "", ' class="many"' if is_many else ""
        for name, right in zip(headers, numeric, strict=True):
            side = "number" if right else "words"
            head += f'<th scope="col" class="{side}">{html.escape(name)}</th>'
        self._parts.append(
            f'<div class="table" tabindex="0" role="group" aria-label="Table">\n<table{kind}>\n'
            f"<caption>{html.escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{''.join(body)}</tbody>\n</table>\n</div>"
        )

    def html(self) -> str:
        """Return the whole page."""
        verdict = ""
        if self._verdict is not None:
            name, sign = SIGNS[self._verdict.word]
            told = [prose(sentence) + "\n" for sentence in self._verdict.sentences]
            verdict = (
                f'<section class="verdict {name}" aria-label="Verdict">\n<p class="word">'
                f'<span class="sign" aria-hidden="true">{sign}</span>'
                f"{self._verdict.word.capitalize()}</p>\n{''.join(told)}</section>\n"
            )
        links = "".join(self._links)
        contents = f'<nav aria-label="Contents">\n<ol>\n{links}</ol>\n</nav>\n' if links else ""
        return DOCUMENT.format(
            title=html.escape(self._title),
            verdict=verdict,
            lead=prose(self._lead),
            contents=contents,
            body="\n".join(self._parts),
            style=style_sheet(),
            version=html.escape(__version__),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        text = self.html().encode()
        with replacing(path) as file:
            file.write(text)


class Report:
    """What was found, with a page that shows it; in a notebook, it shows itself as the page."""

    @property
    def page(self) -> Page:
        """The page; needs matplotlib."""
        raise NotImplementedError

    def html(self) -> str:
        """Return the whole page."""
        return self.page.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        self.page.save(path)

    def _repr_html_(self) -> str:
        # In a frame, because the page's style must not reach the notebook around it.
        page = html.escape(self.html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 45em; border: 0"></iframe>'


def prose(text: str | Sequence[str]) -> str:
    """Return text as HTML: paragraphs, and a list of all strings but the first.

    An option such as --hold is not broken between its hyphens.
    """
    escaped = [html.escape(each) for each in ([text] if isinstance(text, str) else text)]
    first, *points = [OPTION.sub(r'<span class="option">\g<0></span>', each) for each in escaped]
    paragraphs = first.replace("\n\n", "</p>\n<p>")
    if not points:
        return f"<p>{paragraphs}</p>"
    items = "".join([f"<li>{point}</li>\n" for point in points])
    return f"<p>{paragraphs}</p>\n<ul>\n{items}</ul>"
