#!/usr/bin/env python3
"""Print the version of the package, which stands in its __init__.py and nowhere else."""

import re
from pathlib import Path

package = Path(__file__).parents[1] / "src" / "calibrant" / "__init__.py"
print(re.search(r'^__version__ = "(.+)"$', package.read_text(), re.MULTILINE)[1])
