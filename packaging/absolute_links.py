#!/usr/bin/env python3
"""Make the links of the README absolute, in place: PyPI shows it without the other files.

The release workflow runs this before it builds; in the repository the links stay relative.
"""

import re
import tomllib
from pathlib import Path

from version import version

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def absolute(text: str) -> str:
    """Return Markdown whose links and pictures are those of this version on GitHub."""
    source = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]
    raw = source.replace("//github.com/", "//raw.githubusercontent.com/")
    pages, pictures = f"{source}/blob/v{version()}", f"{raw}/v{version()}"

    def whole(link: re.Match[str]) -> str:
        mark, words, place = link.groups()
        return f"{mark}{words}({pictures if mark else pages}/{place})"

    return LINK.sub(whole, text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(absolute(readme.read_text()))
