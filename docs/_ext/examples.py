"""Examples as readers see them: without the mark that the tests need for an empty line."""

from __future__ import annotations

from sphinx.application import Sphinx

MARK = "<BLANKLINE>"


def show_empty_lines(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put an empty line where the source of a page has the mark of one."""
    source[0] = source[0].replace(f"{MARK}\n", "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Look through every page as it is read."""
    app.connect("source-read", show_empty_lines)
    return {"parallel_read_safe": True}
