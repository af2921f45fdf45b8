"""Settings of the documentation; everything it needs is installed, nothing is fetched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import calibrant

project = "calibrant"
author = "The calibrant developers"
project_copyright = f"2026, {author}"
version = release = calibrant.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "public_names",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
# An attribute that two classes share is no reason to stop.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "calibrant"
templates_path: list[str] = []
exclude_patterns = ["_build"]
