"""The directive `picture`: a few lines of Python, and below them the figure that they end in.

The lines run when the site is built, so no picture can differ from its code. The figure is part of
the page and takes its colours from the page's style: it is right on a light and on a dark one.
`:code: hidden` shows the figure alone, `:alt:` says in words what it shows.
"""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx

from calibrant.report.inline import DARK, LIGHT, inline_svg


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
            svg = inline_svg(figure, f"picture{number}", self.options["alt"])
        except Exception as error:
            raise self.error(f"this picture cannot be drawn: {error!r}") from error
        drawing = nodes.raw("", f'<div class="picture">{svg}</div>', format="html")
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
