"""Settings of the documentation; everything it needs is installed, nothing is fetched."""

import importlib.util
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
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "examples",
    "picture",
    "public_names",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
# An attribute that two classes share is no reason to stop.
suppress_warnings = ["ref.python"]

# MathJax in one file, drawn as SVG: no font and no other site is asked for.
package = importlib.util.find_spec("sphinx-mathjax-offline")
mathjax = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
mathjax_path = mathjax.name

html_theme = "furo"
html_title = f"calibrant {release}"
html_static_path = ["_static", str(mathjax)]
html_css_files = ["site.css"]
# The search and the page of every public name do for an index.
html_use_index = html_domain_indices = False
templates_path: list[str] = []
exclude_patterns = ["_build"]
