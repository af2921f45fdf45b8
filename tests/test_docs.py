"""The documentation builds, without a warning, and refuses a public name without words."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(ROOT / "docs")]

UNDOCUMENTED = """
import sys
sys.argv = ["sphinx", *sys.argv[1:]]
import calibrant.measures
calibrant.measures.cal1.__doc__ = None
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_docs_build(tmp_path):
    done = subprocess.run(
        [*BUILD, str(tmp_path / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "api" / "calibrant.html").read_text()
    assert "calibrant.Zoom" in page
    assert "https://" not in "".join(
        line for line in page.splitlines() if "<script" in line or "stylesheet" in line
    ), "a page loads something from the network"


def test_a_public_name_without_a_docstring_fails_the_build(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", UNDOCUMENTED, *BUILD[3:], str(tmp_path / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "calibrant.measures.cal1: no docstring" in done.stderr
