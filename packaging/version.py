#!/usr/bin/env python3
"""Print the version of the package, which is defined only in its __init__.py."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "calibrant" / "__init__.py"


def version() -> str:
    """Return the version, without importing what may not be compiled yet."""
    return re.search(r'^__version__ = "(.+)"$', PACKAGE.read_text(), re.MULTILINE)[1]


if __name__ == "__main__":
    print(version())
