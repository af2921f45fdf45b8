"""Make the notebooks in docs/notebooks from the tutorials they are named after.

    python packaging/notebooks.py            writes them; `make notebooks` does it

Prose becomes Markdown cells, Python examples become code cells without prompts and output, and
commands become cells that begin with an exclamation mark. The tutorials are the source: their
examples are run by the tests, and a test compares the notebooks with the output of this script.
"""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = ("flights", "numbers", "months")
SITE = "https://calibrant.readthedocs.io/en/latest/"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^```\{.*?^```\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)(?:\.\./)?([\w/.-]+?)\.md(#[\w-]+)?\)")


def notebook(name: str) -> str:
    """Return the notebook of a tutorial, as JSON."""
    page = DIRECTIVE.sub("", (DOCS / "tutorials" / f"{name}.md").read_text())
    pieces = BLOCK.split(page)
    cells = [prose(pieces[0])]
    for kind, block, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        cells += [code(python(block) if kind == "python" else console(block)), prose(text)]
    cells = [cell for cell in cells if cell["source"]]
    for number, cell in enumerate(cells):
        cell["id"] = f"{name}-{number}"
    language = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def prose(text: str) -> dict[str, object]:
    """Return a Markdown cell whose links lead to the site."""
    source = LINK.sub(lambda m: f"]({SITE}{m[1]}.html{m[2] or ''})", text.strip())
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def code(source: str) -> dict[str, object]:
    """Return a code cell that has not been run."""
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines,
    }


def python(block: str) -> str:
    """Return what is typed in an example."""
    prompts = (">>> ", "... ")
    return "\n".join(line[4:] for line in block.splitlines() if f"{line} ".startswith(prompts))


def console(block: str) -> str:
    """Return the commands of a console block, as a notebook runs them."""
    return "\n".join(f"!{line[2:]}" for line in block.splitlines() if line.startswith("$ "))


if __name__ == "__main__":
    for tutorial in TUTORIALS:
        (DOCS / "notebooks" / f"{tutorial}.ipynb").write_text(notebook(tutorial))
