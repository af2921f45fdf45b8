"""The directive `picture`: a few lines of Python, and below them the figure that they end in.

The lines run when the site is built, so no picture can differ from its code. The figure is part of
the page and takes its colours from the page's style: it is right on a light and on a dark one. It
is drawn twice, wide and for a phone. Lines that end in a dict of figures give small ones beside
each other, under their names. `:code: hidden` shows no code, `:alt:` says in words what one sees.
"""

from __future__ import annotations

import ast
import html
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx

from calibrant.report.inline import DARK, LIGHT, inline_svg
from calibrant.report.style import drawn

#: Inches of a figure that is for a phone, or one of several.
SMALL = (3.6, 4.0)


def last_value(code: str) -> Any:
    """Run the lines, in an empty folder, and return what the last one says."""
    *lines, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line of a picture must be the figure itself")
    names: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(ast.Module(lines, []), "<picture>", "exec"), names)
            return eval(compile(ast.Expression(last.value), "<picture>", "eval"), names)
        finally:
            os.chdir(here)


def elements(figure: Any, name: str, alt: str) -> Iterator[str]:
    """Yield the figure, or the figures by name, as elements of a page."""
    if isinstance(figure, dict):
        for number, (title, each) in enumerate(figure.items()):
            svg = inline_svg(drawn(each, *SMALL), f"{name}-{number}", f"{title}, of: {alt}")
            yield f"<figure><figcaption>{html.escape(title)}</figcaption>{svg}</figure>"
        return
    for kind, sheet in (("wide", figure), ("narrow", drawn(figure, *SMALL))):
        yield f'<div class="{kind}">{inline_svg(sheet, f"{name}-{kind}", alt)}</div>'


class Picture(Directive):
    """Code, and the figure that it makes."""

    has_content = True
    option_spec: ClassVar = {
        "alt": directives.unchanged_required,
        "code": lambda value: directives.choice(value, ("shown", "hidden")),
    }

    def run(self) -> list[nodes.Node]:
        """Return the code, unless it is hidden, and the figure."""
        code = "\n".join(self.content)
        try:
            figure = last_value(code)
            number = self.state.document.settings.env.new_serialno("picture")
            shown = "".join(elements(figure, f"picture{number}", self.options["alt"]))
        except Exception as error:
            raise self.error(f"this picture cannot be drawn: {error!r}") from error
        kind = "pictures" if isinstance(figure, dict) else "picture"
        drawing = nodes.raw("", f'<div class="{kind}">{shown}</div>', format="html")
        if self.options.get("code") == "hidden":
            return [drawing]
        return [nodes.literal_block(code, code, language="python"), drawing]


def write_colors(app: Sphinx) -> None:
    """Give the colours of the figures their names in the page's style, for light and for dark."""
    dark = f'body:not([data-theme="light"]) {{ {DARK} }}'
    rules = (
        f"body {{ {LIGHT} }}",
        f'body[data-theme="dark"] {{ {DARK} }}',
        f"@media not print {{ @media (prefers-color-scheme: dark) {{ {dark} }} }}",
    )
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.css").write_text("\n".join(rules) + "\n")
    app.add_css_file("figures.css")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive to Sphinx."""
    app.add_directive("picture", Picture)
    app.connect("builder-inited", write_colors)
    return {"parallel_read_safe": True}
